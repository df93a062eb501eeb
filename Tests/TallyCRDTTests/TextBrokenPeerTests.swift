import TallyTesting
import Testing

@testable import TallyCRDT

/// Texts of broken peers: joins obey the laws, nothing that is known vanishes, and all of it can be sent on.
@Suite struct TextBrokenPeerTests {
  @Test func joinsOfForgedStatesObeyTheLawsAndLoseNothing() throws {
    var circles = 0
    for seed in 1...1500 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      let (a, b, c) = (TextForgery.state(&random), TextForgery.state(&random), TextForgery.state(&random))
      let both = a.merging(b)
      #expect(both == b.merging(a), "seed \(seed)")
      #expect(both.merging(c) == a.merging(b.merging(c)), "seed \(seed)")
      #expect(both.merging(a) == both && a.merging(a) == a, "seed \(seed)")
      #expect(both.brokenInvariants == [], "seed \(seed)")
      #expect(both.fingerprint(name: 1, field: 2) == b.merging(a).fingerprint(name: 1, field: 2), "seed \(seed)")
      let written = both.runs.flatMap { run in
        run.stretches.filter { $0.written != nil }.flatMap { stretch in
          (stretch.first..<stretch.end).map { TextElement(run: run.id, offset: $0) }
        }
      }
      let text = MergeableText(both)
      #expect(text.elements.map(\.element).sorted() == written.sorted(), "seed \(seed)")
      #expect(text.elements.map(\.element) == MergeableText(b.merging(a)).elements.map(\.element), "seed \(seed)")
      let replicas = both.replicas
      let limits = replicas.map { Dot(replica: $0, sequence: 20) }
      let bytes = both.encoded(replicas: replicas)
      let back = try TextState(bytes, limits: limits)
      #expect(back == both && back.brokenInvariants == [], "seed \(seed)")
      #expect(back.encoded(replicas: replicas) == bytes, "seed \(seed)")
      if TextForgery.hasCircle(both) { circles += 1 }
      // It can be edited all the same.
      var edited = text
      var runs = TextRuns(salt: 5)
      let stamp = Stamp(time: HybridTime(milliseconds: 9), dot: Dot(replica: ReplicaID(high: 5, low: 0), sequence: 1))
      let (old, place) = (text.characters, random.below(text.count + 1))
      _ = try edited.insert(["!"], at: place, by: stamp, in: &runs)
      #expect(edited.characters == Array(old[..<place]) + ["!"] + Array(old[place...]), "seed \(seed)")
      #expect(edited.elements.map(\.element) == MergeableText(edited.state).elements.map(\.element), "seed \(seed)")
    }
    #expect(circles > 50)
  }

  /// Of each part a decoder says that it is right; so must it be of any that are joined, and each order of joining, and
  /// each way of their bytes, shows every element once, at the same place.
  @Test func partsThatMakeACircleTogetherAreReadShownAndEdited() throws {
    for seed in 1...400 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      let parts = try TextForgery.rings(&random).map { part in
        let bytes = part.encoded(replicas: part.replicas)
        return try TextState(bytes, limits: part.replicas.map { Dot(replica: $0, sequence: 100) })
      }
      #expect(!parts.contains(where: TextForgery.hasCircle), "seed \(seed)")
      var (whole, rest) = (TextState(), parts)
      while !rest.isEmpty { whole.merge(rest.remove(at: random.below(rest.count))) }
      #expect(TextForgery.hasCircle(whole) && whole.brokenInvariants == [], "seed \(seed)")
      #expect(whole == parts.reduce(TextState()) { $0.merging($1) }, "seed \(seed)")
      #expect(whole.merging(whole) == whole && parts.allSatisfy { whole.merging($0) == whole }, "seed \(seed)")
      let split = random.below(parts.count)
      let (a, b) = (parts[..<split], parts[split...])
      let joined = a.reduce(TextState()) { $0.merging($1) }.merging(b.reduce(TextState()) { $0.merging($1) })
      #expect(joined == whole, "seed \(seed)")

      let replicas = whole.replicas
      let bytes = whole.encoded(replicas: replicas)
      let back = try TextState(bytes, limits: replicas.map { Dot(replica: $0, sequence: 100) })
      #expect(back == whole && back.encoded(replicas: replicas) == bytes, "seed \(seed)")
      let text = MergeableText(back)
      let elements = text.elements.map(\.element)
      let known = whole.runs.flatMap { run in
        run.stretches.flatMap { stretch in
          (stretch.first..<stretch.end).map { TextElement(run: run.id, offset: $0) }
        }
      }
      #expect(elements.sorted() == known, "seed \(seed)")
      #expect(MergeableText(joined).elements.map(\.element) == elements, "seed \(seed)")

      // What is typed and deleted among them stands for a reader where the writer has put it.
      var edited = text
      var runs = TextRuns(salt: 5)
      for sequence in 1...4 as ClosedRange<UInt64> {
        let dot = Dot(replica: ReplicaID(high: 5, low: 0), sequence: sequence)
        let stamp = Stamp(time: HybridTime(milliseconds: sequence), dot: dot)
        let (old, place) = (edited.characters, random.below(edited.count + 1))
        _ = try edited.insert(["!"], at: place, by: stamp, in: &runs)
        #expect(edited.characters == Array(old[..<place]) + ["!"] + Array(old[place...]), "seed \(seed)")
        if random.chance(50) {
          let (old, place) = (edited.characters, random.below(edited.count))
          _ = try edited.delete(place..<place + 1, by: stamp)
          #expect(edited.characters == Array(old[..<place]) + Array(old[(place + 1)...]), "seed \(seed)")
        }
      }
      #expect(MergeableText(edited.state).elements.map(\.element) == edited.elements.map(\.element), "seed \(seed)")
    }
  }
}
