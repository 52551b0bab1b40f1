export interface GossipCount {
  messages: number
  bytes: number
}

/** Counts the messages of the gossip topic, as they are given to the transport and come from it. */
export class GossipTally {
  readonly sent: GossipCount = { messages: 0, bytes: 0 }
  readonly received: GossipCount = { messages: 0, bytes: 0 }

  send(message: Uint8Array): void {
    count(this.sent, message)
  }

  receive(message: Uint8Array): void {
    count(this.received, message)
  }
}

function count(total: GossipCount, { length }: Uint8Array): void {
  total.messages++
  total.bytes += length
}
