import parse from 'parse-prometheus-text-format'
import type { Registry as Register } from 'prom-client'

export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What a Prometheus server would take from a register, read back from the text. */
export class Scrape {
  readonly text: string
  readonly families: ReturnType<typeof parse>

  private constructor(text: string) {
    this.text = text
    this.families = parse(text)
  }

  static async of(register: Register): Promise<Scrape> {
    return new Scrape(await register.metrics())
  }

  /** By name without the prefix `rollcall_`. */
  samples(name: string): Sample[] {
    const family = this.families.find((each) => each.name === `rollcall_${name}`)
    if (family === undefined) throw new Error(`there is no metric ${name}`)
    return family.metrics.map(({ labels = {}, value }) => ({ labels, value: Number(value) }))
  }

  /** Of a metric without labels. */
  value(name: string): number {
    const [sample, ...more] = this.samples(name)
    if (sample === undefined || more.length > 0) throw new Error(`${name} has no one value`)
    return sample.value
  }

  /** The values of a metric with one label that are not 0. */
  by(name: string, label: string): Record<string, number> {
    const samples = this.samples(name).filter(({ value }) => value !== 0)
    return Object.fromEntries(samples.map(({ labels, value }) => [labels[label] ?? '', value]))
  }
}
