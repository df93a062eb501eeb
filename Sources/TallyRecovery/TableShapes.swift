import TallyCRDT
import TallyStore

/// Which table a page begins that nothing in the list of tables leads to, by what its records look like.
enum TableShapes {
  /// The columns of the store's own tables: n for the number, which is the rowid; i an integer, t a text, b a blob, B
  /// one of sixteen bytes, k a key, which is a text or a B, * anything.
  private static let tables = [
    "tally_zone": "nBbi**", "tally_replica": "nBi", "tally_kind": "nttti", "tally_field": "niti", "tally_extra": "nb",
    "tally_hidden": "nitb", "tally_log": "niiib",
  ]
  /// Those whose last columns older files do not have, and how many these are.
  private static let grown = ["tally_zone": 2, "tally_replica": 1, "tally_kind": 1, "tally_field": 1]
  /// Those WITHOUT ROWID, which look like indexes.
  private static let trees = [
    "tally_meta": "t*", "tally_vector": "iii", "tally_context": "iiib", "tally_wait": "tit", "tally_stub": "ikb",
    "tally_cut": "ikkb",
  ]

  /// The name of the table that begins on a page; nil if nothing or more than one thing looks like it.
  static func table(under root: Int, in pages: DatabasePages) -> String? {
    let (isTable, records) = pages.firstRecords(under: root)
    guard !records.isEmpty else { return nil }
    let names = (isTable ? tables : trees).filter { name, shape in
      records.allSatisfy {
        fits($0, shape, lacking: grown[name] ?? 0)
          && (name != "tally_meta" || MetaKeys.isKnown(($0.texts.first ?? nil) ?? ""))
      }
        // Where all end with sixteen bytes, it is the index of `tally_cut`.
        && (name != "tally_stub" || records.contains { $0.types.last != uuidType })
    }
    if let name = names.first?.key { return names.count == 1 ? name : nil }
    return isTable ? entity(records) : nil
  }

  /// The type of the records, where all are an entity's: a name first, and a clock somewhere behind it.
  private static func entity(_ records: [DatabasePages.Record]) -> String? {
    let types = Set(
      records.map { record in
        record.types.dropFirst().contains(InlineClock.serialType) && !record.isLink
          ? record.name(0)?.type : nil
      })
    return types.count == 1 ? types.first ?? nil : nil
  }

  /// SQLite's number for a blob of sixteen bytes.
  private static let uuidType = 12 + 2 * 16

  private static func fits(_ record: DatabasePages.Record, _ shape: String, lacking: Int) -> Bool {
    let count = record.types.count
    guard (shape.count - lacking...shape.count).contains(count) else { return false }
    return zip(record.types, shape).allSatisfy { type, column in
      switch column {
      case "n": type == 0
      case "i": (1...6).contains(type) || (8...9).contains(type)
      case "t": type >= 13 && type % 2 == 1
      case "b": type >= 12 && type % 2 == 0
      case "B": type == uuidType
      case "k": type == uuidType || type >= 13 && type % 2 == 1
      default: true
      }
    }
  }
}

extension DatabasePages.Record {
  /// A link is two names and a clock. Which relationship's, only the schema could say.
  fileprivate var isLink: Bool { types.count == 3 && name(0) != nil && name(1) != nil }

  /// The record's name that stands in one of the first two columns.
  fileprivate func name(_ place: Int) -> AnyRecordName? {
    place < texts.count ? texts[place].flatMap { try? AnyRecordName($0) } : nil
  }
}

extension InlineClock {
  /// SQLite's number for a blob of fifteen bytes.
  fileprivate static let serialType = 12 + 2 * size
}
