import TallyCRDT
import TallyStore
import TallySync
import TallyTesting

/// The small world of the histories with seeds: kinds that an app ships, copies that its older versions wrote, entries
/// of people.
package enum SeedWorld {
  package static let set = "kinds"
  package static let keys = ["a", "b", "c", "d"]
  /// The seeds' names by key; later ones are owned by earlier ones, if at all.
  package static let seeds = keys.compactMap { try? AnyRecordName(type: "Kind", key: SeedWorld.id(of: $0)).text }
  /// What older versions of the app wrote, each device with ids of its own.
  package static let copies = (0..<4).map { "Kind|~|copy-\($0)" }
  package static let entries = (0..<3).map { SampleName.name("Entry", $0) }
  package static let kinds = seeds + copies
  package static let records = kinds + entries

  package static func id(of key: String) -> String { SeedIdentity.uuid(ofKey: key, set: set).uuidString.lowercased() }
  package static func seed(_ key: String) -> String { zip(keys, seeds).first { $0.0 == key }?.1 ?? key }
  package static func type(_ record: String) -> String { record.hasPrefix("Kind") ? "Kind" : "Entry" }

  /// How kinds follow their seed.
  package enum Mode: String, CaseIterable, Sendable {
    case untilEdited
    case perField
    case deleteWins
  }

  package static func schema(_ mode: Mode) -> Schema {
    Schema([
      EntitySchema(
        "Kind", deleteWins: mode == .deleteWins, follows: mode == .perField ? .perField : .untilEdited,
        .text("name"), .text("note"), .text("extra"), .text("mood", default: "calm"),
        .reference("buddy", to: "Kind"), .reference("part", to: "Kind", onDelete: .cascade),
        .toMany("related", to: "Kind")),
      EntitySchema(
        "Entry", .text("title"), .reference("kind", to: "Kind"),
        .reference("parent", to: "Kind", onDelete: .cascade), .toMany("related", to: "Kind")),
    ])
  }
}

/// The columns of both types.
package enum SeedField: String, CaseIterable, Hashable, Sendable {
  case name, note, extra, mood, buddy, part
  case title, kind, parent

  package static func of(_ record: String) -> [SeedField] {
    SeedWorld.type(record) == "Kind" ? [.name, .note, .extra, .mood, .buddy, .part] : [.title, .kind, .parent]
  }
  package var isOwner: Bool { self == .part || self == .parent }
  package var isReference: Bool { isOwner || self == .buddy || self == .kind }
  /// What the column shows that nobody wrote.
  package var defaultValue: String? { self == .mood ? "calm" : nil }
}

/// One version of one seed; references and members by key.
package struct SeedContent: Hashable, Sendable {
  package var fields: [SeedField: String] = [:]
  package var members: Set<String> = []

  /// What the version says of a field, with names in place of keys; nil if it leaves the field open.
  package func value(_ field: SeedField) -> String? {
    guard let value = fields[field], value != field.defaultValue else { return nil }
    return field.isReference ? SeedWorld.seed(value) : value
  }
}

/// One version of the set, as one build of the app ships it.
package struct SeedEdition: Hashable, Sendable {
  package var version: Int
  package var records: [String: SeedContent] = [:]
  package var retired: Set<String> = []

  /// What an app would write down.
  package func set(adopting: Bool) -> SeedSet {
    func values(_ content: SeedContent, references: Bool) -> [String: String] {
      let chosen = content.fields.filter { $0.key.isReference == references }
      return Dictionary(uniqueKeysWithValues: chosen.map { ($0.key.rawValue, $0.value) })
    }
    return SeedSet(
      SeedWorld.set, version: version,
      records: records.map { key, content in
        SeedRecord(
          key, type: "Kind", values(content, references: false).mapValues(Value.text),
          references: values(content, references: true), relationships: ["related": Array(content.members)])
      }, retired: retired.map { SeedKey($0, type: "Kind") },
      adoptions: adopting ? [SeedAdoption(type: "Kind", matching: ["name"])] : [])
  }
}

/// A row as an app sees it.
package struct SeedRow: Equatable {
  package var fields: [SeedField: String] = [:]
  package var members: Set<String> = []
  /// What `tally_seeded` says; nil for a record that is no seed's.
  package var version: Int?
  package var belongsToUser: Bool?
}

/// All rows by record name.
package typealias SeedView = [String: SeedRow]
