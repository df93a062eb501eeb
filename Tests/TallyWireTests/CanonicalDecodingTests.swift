import TallyCRDT
import TallyWire
import TestEffort
import Testing

@Suite struct CanonicalDecodingTests {
  @Test func whatDecodesIsCanonical() throws {
    var accepted = 0
    for seed in Effort.seeds(50) {
      var samples = Samples(seed: seed)
      for payload in try samples.plainPayloads() {
        for _ in 0..<40 {
          let damaged = samples.damage(payload)
          let bytes = try Bytes.seal(samples.header, Bytes.block(damaged))
          guard let blocks = try? Bytes.read(bytes).blocks else { continue }
          accepted += 1
          let again = try Bytes.payload(of: samples.header, #require(blocks.first))
          // Whether a block is compressed is the sender's choice, and not a matter of its form.
          guard !again.isCompressed else { continue }
          #expect(again.stored == damaged, "seed \(seed): \(Golden.text(damaged)) is \(blocks)")
          if again.stored != damaged { return }
        }
      }
    }
    #expect(accepted > 250 || Effort.seed != nil)
  }
}
