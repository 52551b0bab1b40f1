interface TrafficCount {
  messages: number
  bytes: number
}

/** Counts messages of one kind, as they are given to the transport and come from it. */
export class TrafficTally {
  readonly sent: TrafficCount = { messages: 0, bytes: 0 }
  readonly received: TrafficCount = { messages: 0, bytes: 0 }

  send(message: Uint8Array): void {
    count(this.sent, message)
  }

  receive(message: Uint8Array): void {
    count(this.received, message)
  }
}

function count(total: TrafficCount, { length }: Uint8Array): void {
  total.messages++
  total.bytes += length
}
