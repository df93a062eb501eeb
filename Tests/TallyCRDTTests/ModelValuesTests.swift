import Foundation
import TallyCRDT
import Testing

/// Histories that the models of deleting by lives and of counters have played, with what every device keeps after each
/// step (`Tests/Models/check-values.json` and `value-checks.json`, whose form `checkvalues.py` and `valuechecks.py`
/// describe). Nothing of the engine made them.
@Suite struct ModelValuesTests {
  /// The states that the model's devices hold, by name.
  private typealias Device = [String: RecordState]

  /// A device that takes in a delta then has the join, unless it lifted something. Then it is the join and what
  /// the lifts wrote, all of which travels under the number of the one transaction that lifted.
  @Test func whatADeviceKeepsIsTheJoinOfWhatItHadAndTheDelta() throws {
    var (joins, lifts, lives) = (0, 0, 0)
    for history in try Self.histories() + Self.histories("value-checks") {
      var devices: [String: Device] = [:]
      var files: [Int: Device] = [:]
      for step in history.steps {
        let before = devices[step.at] ?? [:]
        if let file = step.file, step.kind == "put a file" { files[file] = before }
        var after = before
        for (name, record) in step.kept { after[name] = record }
        devices[step.at] = after
        guard step.kind == "take", let base = step.base, let from = step.from else { continue }
        let source = step.file.flatMap { files[$0] } ?? devices[from] ?? [:]
        for name in Set(after.keys).union(source.keys).sorted() {
          let delta = source[name]?.delta(since: base) ?? RecordState()
          let joined = (before[name] ?? RecordState()).merging(delta)
          let kept = after[name] ?? RecordState()
          if joined == kept {
            joins += 1
            if kept.life != nil { lives += 1 }
            continue
          }
          let dot = try #require(step.dot, "seed \(history.seed): \(name) at \(step.at) is not the join")
          #expect(joined.merging(kept) == kept, "seed \(history.seed): \(name) at \(step.at)")
          let rest = kept.dots.subtracting(joined.dots).subtracting([dot])
          #expect(rest.allSatisfy(joined.touches.covers), "seed \(history.seed): \(name)")
          #expect(kept.life != nil && kept.dots.contains(dot), "seed \(history.seed): \(name)")
          lifts += 1
        }
      }
    }
    #expect(joins > 500 && lifts > 30 && lives > 100)
  }

  /// Every state that a history led to, of one record with every other of it.
  @Test func joinsOfWhatTheModelKeepsObeyTheLaws() throws {
    for history in try Self.histories() + Self.histories("value-checks") {
      var states: [String: [RecordState]] = [:]
      for (name, record) in history.steps.flatMap(\.kept) where states[name]?.contains(record) != true {
        states[name, default: []].append(record)
      }
      for (name, states) in states {
        for (a, b) in zip(states, states.dropFirst()) {
          #expect(a.merging(b) == b.merging(a), "seed \(history.seed): \(name)")
          #expect(a.merging(b).brokenInvariants == [])
          for c in states.prefix(6) {
            #expect(a.merging(b).merging(c) == a.merging(b.merging(c)), "seed \(history.seed): \(name)")
          }
        }
      }
    }
  }

  /// The number that a record shows is what the model says.
  @Test func countersShowWhatTheModelShows() throws {
    var (counted, added) = (0, 0)
    for history in try Self.histories("value-checks") {
      var devices: [String: Device] = [:]
      for step in history.steps {
        for (name, record) in step.kept { devices[step.at, default: [:]][name] = record }
        for (name, number) in step.numbers {
          let state = try #require(devices[step.at]?[name], "seed \(history.seed)")
          let shown = state.count(of: try Self.field("n"), from: 0, followsNewest: history.followsNewest)
          #expect(shown == number, "seed \(history.seed): \(name) at \(step.at)")
          counted += 1
          if state.added(to: try Self.field("n")) != 0 { added += 1 }
        }
      }
    }
    #expect(counted > 500 && added > 100)
  }

  // MARK: Reading

  private struct Step {
    var at: String
    var kind: String
    var from: String?
    var file: Int?
    var base: StateVector?
    var dot: Dot?
    var kept: [(String, RecordState)]
    /// What counters show.
    var numbers: [String: Int64]
  }

  private struct History {
    var seed: Int
    var followsNewest: Bool
    var steps: [Step]
  }

  private typealias Object = [String: Any]

  private static func histories(_ name: String = "check-values") throws -> [History] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appendingPathComponent("Models/\(name).json"))
    let file = try #require(JSONSerialization.jsonObject(with: data) as? Object)
    try #require(file["format"] as? Int == 1)
    return try #require(file["histories"] as? [Object]).map { history in
      let versions = try #require(history["versions"] as? [String: Object])
      return History(
        seed: try #require(history["seed"] as? Int),
        followsNewest: try #require(history["followsPerField"] as? Bool),
        steps: try #require(history["steps"] as? [Object]).map { try step($0, versions) })
    }
  }

  private static func step(_ step: Object, _ versions: [String: Object]) throws -> Step {
    let kept = step["kept"] as? [String: Object] ?? [:]
    let shown = step["shown"] as? [String: Object] ?? [:]
    return Step(
      at: try #require(step["at"] as? String), kind: try #require(step["do"] as? String),
      from: step["from"] as? String, file: step["file"] as? Int, base: try (step["base"] as? Object).map(vector),
      dot: try (step["dot"] as? [Any]).map(dot),
      kept: try kept.sorted { $0.key < $1.key }.map { ($0.key, try record($0.key, $0.value, versions)) },
      numbers: shown.compactMapValues { ($0["n"] as? Int).map(Int64.init) })
  }

  /// The model compares the names of replicas as texts: so do these ids.
  private static func replica(_ name: String) -> ReplicaID {
    let bytes = Array(name.utf8.prefix(8)) + Array(repeating: 0, count: max(0, 8 - name.utf8.count))
    return ReplicaID(high: bytes.reduce(0) { $0 << 8 | UInt64($1) }, low: 0)
  }

  private static func dot(_ value: [Any]) throws -> Dot {
    Dot(
      replica: replica(try #require(value.first as? String)), sequence: UInt64(try #require(value.last as? Int)))
  }

  private static func stamp(_ value: Any?) throws -> Stamp {
    let parts = try #require(value as? [Any])
    return Stamp(
      rank: Rank(rawValue: UInt8(try #require(parts[0] as? Int))),
      time: HybridTime(milliseconds: UInt64(try #require(parts[1] as? Int))), dot: try dot(Array(parts[2...])))
  }

  private static func vector(_ value: Object) throws -> StateVector {
    StateVector(try value.map { (replica($0.key), UInt64(try #require($0.value as? Int))) })
  }

  private static func value(_ value: Any) throws -> Value {
    if value is NSNull { return .null }
    if let text = value as? String { return .text(text) }
    return .integer(Int64(try #require(value as? Int)))
  }

  private static func field(_ name: String) throws -> FieldID {
    let number = UInt32(try #require(["x", "y", "o", "fw", "n"].firstIndex(of: name)))
    return FieldID(rawValue: number, isPresence: name == "o" || name == "fw")
  }

  /// What a replica has added: its last transaction that did, and the sum.
  private static func total(_ name: String, _ parts: Any) throws -> FieldCell {
    let parts = try #require(parts as? [Int])
    let number = name.utf8.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let dot = Dot(replica: replica(name), sequence: UInt64(parts[0]))
    return FieldCell(
      field: FieldID(rawValue: number, totalOf: try field("n").rawValue),
      stamp: Stamp(time: HybridTime(milliseconds: dot.sequence), dot: dot), value: .integer(Int64(parts[1])))
  }

  private static func cell(_ name: String, _ parts: Any?) throws -> FieldCell {
    let parts = try #require(parts as? [Any])
    return FieldCell(field: try field(name), stamp: try stamp(parts[0]), value: try value(parts[1]))
  }

  private static func record(_ name: String, _ record: Object, _ versions: [String: Object]) throws -> RecordState {
    var state = RecordState()
    state.existence = try record["existence"].map(stamp)
    if let life = record["life"] as? Object {
      // What the author had seen is not in the file. It decides nothing about what is kept.
      let begun = try dot(try #require(life["dot"] as? [Any]))
      state.life = Life(
        time: HybridTime(milliseconds: UInt64(try #require(life["time"] as? Int))), dot: begun,
        context: StateVector([(begun.replica, begun.sequence)]))
      state.life?.said = try (record["said"] as? [Any]).map(dot)
    }
    for (name, cell) in (record["cells"] as? Object ?? [:]) {
      state.fields.append(try Self.cell(name, cell))
      if let parts = cell as? [Any], parts.count == 3 {
        state.life?[via: try field(name)] = try dot(try #require(parts[2] as? [Any]))
      }
    }
    for (name, key) in [("o", "owner"), ("fw", "forward")] {
      if let cell = record[key] { state.fields.append(try Self.cell(name, cell)) }
    }
    for (name, parts) in (record["totals"] as? Object ?? [:]) { state.fields.append(try total(name, parts)) }
    state.fields.sort { $0.field < $1.field }
    state.deletes = try (record["deletes"] as? [[Any]] ?? []).map { parts in
      Delete(stamp: try stamp(parts[0]), context: try vector(try #require(parts[1] as? Object)))
    }
    state.deletes.sort { $0.stamp.dot < $1.stamp.dot }
    state.seed = try seed(name, record, versions)
    state.normalizeTouches(try vector(record["touches"] as? Object ?? [:]))
    return state
  }

  private static func seed(_ name: String, _ record: Object, _ versions: [String: Object]) throws -> SeedState? {
    guard let stamps = record["layers"] as? [[Any]] else { return nil }
    let layers = try stamps.map { parts in
      let tag = try #require(parts[2] as? String)
      let version = try #require(versions[tag])
      let content = (version["records"] as? Object)?[name] as? Object
      let stamp = try stamp(parts)
      let fields = try (content ?? [:]).map {
        FieldCell(field: try field($0.key), stamp: stamp, value: try value($0.value))
      }
      return SeedLayer(stamp: stamp, isRetired: content == nil, fields: fields.sorted { $0.field < $1.field })
    }
    let basis = try (record["basis"] as? [Any]).map {
      SeedBasis(stamp: try stamp($0[1]), layer: try stamp($0[0]))
    }
    return SeedState(layers: layers.sorted { $0.stamp < $1.stamp }, basis: basis)
  }
}
