import Foundation
import TallyCRDT
import Testing

/// Histories that the model of mergeable texts has played, with what every device keeps and shows after each step
/// (`Tests/Models/text-checks.json`, whose form `textchecks.py` describes). Nothing of the engine made them.
@Suite struct ModelTextTests {
  private struct Device {
    var text = MergeableText(TextState())
    var runs = TextRuns(salt: 1)
    var vector = StateVector()
    /// What the model keeps.
    var kept: [TextRunID: TextRun] = [:]

    var expected: [TextRun] { kept.values.sorted { $0.id < $1.id } }
  }

  /// The same strings are saved at each device, and the same deltas travel: then each run has the same name, hangs at
  /// the same element and holds the same, after each step, and the same is shown.
  @Test func devicesKeepAndShowWhatTheModelDoes() throws {
    var (writes, takes) = (0, 0)
    for history in try Self.histories() {
      var devices: [String: Device] = [:]
      for step in history.steps {
        var device = devices[step.at] ?? Device()
        for run in step.kept { device.kept[run.id] = run }
        if let from = step.from {
          let other = devices[from] ?? Device()
          if let delta = other.text.state.delta(since: step.base) { device.text.merge(delta) }
          device.vector.merge(other.vector)
          takes += 1
        } else {
          let dot = Dot(replica: Self.replica(step.at), sequence: device.vector[Self.replica(step.at)] + 1)
          let stamp = Stamp(time: HybridTime(milliseconds: dot.sequence), dot: dot)
          let edit = try device.text.save(step.text, from: device.text.text, by: stamp, in: &device.runs)
          if !edit.isEmpty { device.vector.include(dot) }
          writes += 1
        }
        #expect(device.text.text == step.text, "seed \(history.seed)")
        #expect(device.text.state.runs == device.expected, "seed \(history.seed)")
        devices[step.at] = device
      }
      let texts = Set(devices.values.map(\.text.text))
      #expect(texts.count == 1, "seed \(history.seed)")
    }
    #expect(writes > 200 && takes > 200)
  }

  /// Joins of what the model keeps, of each device that has just done something with every other.
  @Test func joinsOfWhatTheModelKeepsObeyTheLaws() throws {
    for history in try Self.histories() {
      var devices: [String: Device] = [:]
      for step in history.steps {
        for run in step.kept { devices[step.at, default: Device()].kept[run.id] = run }
        let states = devices.sorted { $0.key < $1.key }.map { TextState(latest: nil, runs: $0.value.expected) }
        let a = TextState(latest: nil, runs: devices[step.at]?.expected ?? [])
        #expect(a.brokenInvariants == [], "seed \(history.seed)")
        for b in states {
          let both = a.merging(b)
          #expect(both == b.merging(a), "seed \(history.seed)")
          #expect(both.merging(states[0]) == a.merging(b.merging(states[0])), "seed \(history.seed)")
        }
      }
    }
  }

  // MARK: Reading

  private struct Step {
    var at: String
    var from: String?
    var base: StateVector
    var text: String
    var kept: [TextRun]
  }

  private struct History {
    var seed: Int
    var steps: [Step]
  }

  private typealias Object = [String: Any]

  private static func histories() throws -> [History] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appendingPathComponent("Models/text-checks.json"))
    let file = try #require(JSONSerialization.jsonObject(with: data) as? Object)
    try #require(file["format"] as? Int == 1)
    return try #require(file["histories"] as? [Object]).map { history in
      History(
        seed: try #require(history["seed"] as? Int),
        steps: try #require(history["steps"] as? [Object]).map(step))
    }
  }

  private static func step(_ step: Object) throws -> Step {
    let base = step["base"] as? Object ?? [:]
    return Step(
      at: try #require(step["at"] as? String), from: step["from"] as? String,
      base: StateVector(try base.map { (replica($0.key), UInt64(try #require($0.value as? Int))) }),
      text: try #require(step["text"] as? String), kept: try #require(step["kept"] as? [[Any]]).map(run))
  }

  /// The model compares the names of replicas as texts: so do these ids.
  private static func replica(_ name: String) -> ReplicaID {
    ReplicaID(high: name.utf8.reduce(0) { $0 << 8 | UInt64($1) }, low: 0)
  }

  private static func dot(_ parts: ArraySlice<Any>) throws -> Dot {
    let sequence = try #require(parts.dropFirst().first as? Int)
    return Dot(replica: replica(try #require(parts.first as? String)), sequence: UInt64(sequence))
  }

  private static func id(_ value: Any) throws -> TextRunID {
    let parts = try #require(value as? [Any])
    return TextRunID(dot: try dot(parts[...]), number: UInt64(try #require(parts[2] as? Int)))
  }

  private static func run(_ parts: [Any]) throws -> TextRun {
    let id = try id(parts[0])
    var origin = TextRun.Origin(stamp: nil)
    if let parent = parts[1] as? [Any] {
      let element = TextElement(run: try Self.id(parent[0]), offset: UInt32(try #require(parent[1] as? Int)))
      origin = .init(try #require(parts[2] as? Int) == 0 ? .left : .right, of: element)
    }
    var deleted: [Int: Dot] = [:]
    for row in try #require(parts[5] as? [[Any]]) { deleted[try #require(row[0] as? Int)] = try dot(row[1...]) }
    let characters = Array(try #require(parts[4] as? String).unicodeScalars)
    // Element by element: how a state keeps them is its own.
    let stretches = try #require(parts[3] as? [Any]).enumerated().compactMap { index, sequence -> TextStretch? in
      let first = UInt32(index)
      let written = (sequence as? Int).map { TextDots(Dot(replica: id.dot.replica, sequence: UInt64($0))) }
      if let dot = deleted[index] {
        return TextStretch(first: first, count: 1, written: written, deleted: TextDots(dot))
      }
      return written.map { TextStretch(first: first, characters: [characters[index]], written: $0) }
    }
    return TextRun(id: id, origin: origin, stretches: stretches)
  }
}
