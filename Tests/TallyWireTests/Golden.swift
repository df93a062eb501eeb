import Foundation
import TallyCRDT
import TallyWire

/// Bytes that were written down when the format was settled. Devices and backups hold such bytes: what the tests find
/// changed here is a new version of the format.
enum Golden {
  /// The bytes of a file in `Golden`: hexadecimal digits in any layout, and comment lines that start with `#`.
  static func bytes(_ name: String) throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")
    let text = try String(contentsOf: folder.appendingPathComponent(name + ".hex"), encoding: .utf8)
    let digits = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.joined().utf8.compactMap(
      Hexadecimal.value(of:))
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// Thirty-two bytes a line, as the files have them.
  static func text(_ bytes: [UInt8]) -> String {
    stride(from: 0, to: bytes.count, by: 32).map { start in
      bytes[start..<min(start + 32, bytes.count)].map { byte in
        let digits = String(byte, radix: 16)
        return byte < 16 ? "0" + digits : digits
      }.joined()
    }.joined(separator: "\n")
  }

  static let first = ReplicaID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
  static let second = ReplicaID(high: 0xF1F2_F3F4_F5F6_F7F8, low: 0xF9FA_FBFC_FDFE_FF00)

  static func vector(_ entries: [(ReplicaID, UInt64)]) -> StateVector { StateVector(entries) }

  static let plainHeader = DeltaHeader(
    base: vector([(first, 2)]), target: vector([(first, 300), (second, 1)]))
  static let fullHeader = DeltaHeader(
    zone: ZoneID(high: 1, low: 2), base: StateVector(), target: vector([(first, 300), (second, 1)]),
    fingerprint: Fingerprint(first: 0x1122_3344_5566_7788, second: 0x99AA_BBCC_DDEE_FF00))

  static func stamp(_ replica: ReplicaID, _ sequence: UInt64, _ time: UInt64, rank: Rank = .user) -> Stamp {
    Stamp(rank: rank, time: HybridTime(milliseconds: time), dot: Dot(replica: replica, sequence: sequence))
  }

  static func cell(_ field: UInt32, _ stamp: Stamp, _ value: Value) -> FieldCell {
    FieldCell(field: FieldID(rawValue: field), stamp: stamp, value: value)
  }

  /// Blocks so small that none is compressed: compressed bytes may change with the version of zstd.
  static func blocks() throws -> [DeltaBlock] {
    let insert = stamp(first, 3, 1_700_000_000_000)
    let edit = stamp(second, 1, 1_700_000_000_005)
    let game = try AnyRecordName("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db")
    let other = try AnyRecordName("SBGame|~|go")
    let venue = Value(text: "SBPlace|~|0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff")
    let uniform = RecordState(
      inserted: insert, fields: [cell(0, insert, .text("Go")), cell(1, insert, .integer(-3)), cell(2, insert, venue)])
    var edited = RecordState(inserted: insert, fields: [cell(1, edit, Value(real: 1.5))])
    edited.supersededTouches = vector([(first, 300)])
    var deleted = RecordState()
    deleted.deletes = [Delete(stamp: stamp(first, 4, 7), context: vector([(first, 4), (second, 1)]))]
    var element = ORSetElement(added: insert)
    element.remove(edit)
    element.add(stamp(second, 1, 9, rank: Rank(rawValue: 3)))
    func record(_ name: AnyRecordName, _ state: RecordState) -> DeltaBlock {
      let item = DeltaBlock.Record(name: name, state: state)
      let fields = ["title", "count", "venue"]
      return DeltaBlock(records: [DeltaBlock.Records(type: "SBGame", fields: fields, items: [item])])
    }
    func link(_ source: AnyRecordName, _ target: AnyRecordName, _ element: ORSetElement) -> DeltaBlock {
      let item = DeltaBlock.Link(source: source, target: target, element: element)
      return DeltaBlock(links: [
        DeltaBlock.Links(source: "SBGame", relationship: "then", target: "SBGame", items: [item])
      ])
    }
    var seeded = RecordState()
    let (old, new) = (stamp(first, 5, 1, rank: .seed), stamp(first, 6, 2, rank: .seed))
    seeded.fields = [cell(0, stamp(second, 1, 8, rank: .adopted), .blob([0, 255])), cell(1, insert, .null)]
    seeded.seed = SeedState(
      layers: [SeedLayer(stamp: old, fields: [cell(1, old, .integer(5))]), SeedLayer(stamp: new, isRetired: true)],
      basis: SeedBasis(stamp: insert, layer: old))
    return [
      record(game, uniform), record(other, edited), record(other, deleted), record(other, seeded),
      link(other, game, ORSetElement(added: edit)), link(other, other, element),
    ]
  }

  /// A block that is compressed.
  static func largeBlock() throws -> DeltaBlock {
    let insert = stamp(first, 3, 1_700_000_000_000)
    let items = try (0..<20).map { number in
      let state = RecordState(inserted: insert, fields: [cell(0, insert, .text("the same words in every title"))])
      return DeltaBlock.Record(name: try AnyRecordName(type: "SBGame", key: "game \(10 + number)"), state: state)
    }
    return DeltaBlock(records: [DeltaBlock.Records(type: "SBGame", fields: ["title"], items: items)])
  }
}
