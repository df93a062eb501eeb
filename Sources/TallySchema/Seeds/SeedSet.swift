import GRDB
import TallyCRDT

/// Default data that an app ships. Every installation writes it for itself, even offline, and nothing appears twice.
///
/// ```swift
/// let speechTypes = SeedSet("speech-types", version: 2, records: [
///   SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120]),
///   SeedRecord("eulogy", of: SpeechType.self, ["name": "Eulogy", "seconds": 600]),
/// ], retired: [SeedKey("roast", of: SpeechType.self)])
/// try store.seed(speechTypes)   // at every launch
/// ```
///
/// A person always wins: later versions leave their edits unchanged and never bring back what they deleted. A record
/// that was not edited follows the newest version. A record that a version omits stays as in the version before; to
/// withdraw one, retire it. Raise `version` with every change of the content.
public struct SeedSet: Sendable, Hashable {
  /// The name of the set, which stays the same in every version: 1 to 64 printable ASCII characters. It is part of the
  /// records' identity.
  public var name: String
  /// The version of the content, counted from 1. Raise it with every change.
  public var version: Int
  /// All records of this version; a version is complete, not a difference from the one before.
  public var records: [SeedRecord]
  /// The records that this version withdraws. Each disappears where it was not edited. Keep them in later versions.
  public var retired: [SeedKey]
  /// Rules that recognize default data written by older versions of the app, from before seed sets.
  public var adoptions: [SeedAdoption]

  /// Declares one version of a seed set. The order of the records does not matter.
  ///
  /// ```swift
  /// let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
  /// let speechTypes = SeedSet("speech-types", version: 1, records: [toast])
  /// ```
  ///
  /// Its rules are checked when it is applied (`StoreError.invalidSeeds`). The content is part of the identity: two
  /// builds that ship different records under one version count as two sets, only one of which is shown.
  /// - Parameters:
  ///   - name: the name that all versions share: 1 to 64 printable ASCII characters.
  ///   - version: the version, counted from 1 and raised with every change.
  ///   - records: all records of this version.
  ///   - retired: records of earlier versions that are withdrawn.
  ///   - adoptions: rules for default data written by older versions of the app, from before seed sets.
  public init(
    _ name: String, version: Int, records: [SeedRecord], retired: [SeedKey] = [], adoptions: [SeedAdoption] = []
  ) {
    self.name = name
    self.version = version
    self.records = records
    self.retired = retired
    self.adoptions = adoptions
  }
}

/// One record of a seed set: its key, and its content in this version.
///
/// ```swift
/// let toast = SeedRecord("toast", of: SpeechType.self, ["name": "Toast", "seconds": 120])
/// ```
///
/// A record's name follows from the set's name and the key, so every device creates the same record, and
/// ``RecordName/init(seed:of:)`` computes the name without a database. References and relationships name other seeds of
/// the set by their keys.
///
/// Values are literals or `Value`s: texts, numbers, `true` and `false`, and nil for null. Nothing is checked until
/// ``Store/seed(_:)``, which throws `StoreError.invalidSeeds` for an unknown type or field, or a wrong kind of value.
public struct SeedRecord: Sendable, Hashable {
  /// The permanent identity of the record within its set: 1 to 128 printable ASCII characters. Never use a translated
  /// text.
  public var key: String
  /// The type of the record.
  public var type: String
  /// The values by field; an omitted field has its default.
  public var fields: [String: Value]
  /// The key of the referenced seed for each reference.
  public var references: [String: String]
  /// The keys of the members for each relationship. In an ordered relationship they give the initial order, which a
  /// person may change.
  public var relationships: [String: [String]]

  /// Declares a record of a type that is known only by name, for tools without a Swift type for it.
  ///
  /// Apps use `init(_:of:_:references:relationships:)`. Nothing is checked here: an unknown type or field causes
  /// `StoreError.invalidSeeds` when the set is applied.
  /// - Parameters:
  ///   - key: the permanent identity of the record within its set.
  ///   - type: the name of the entity, as in its `EntitySchema`.
  ///   - fields: the values by field; omitted fields have their defaults.
  ///   - references: the key of a seed of the same set for each reference.
  ///   - relationships: the keys of the members for each relationship.
  public init(
    _ key: String, type: String, _ fields: [String: Value] = [:], references: [String: String] = [:],
    relationships: [String: [String]] = [:]
  ) {
    self.key = key
    self.type = type
    self.fields = fields
    self.references = references
    self.relationships = relationships
  }

  /// Declares a record of an entity by its fields; omitted fields have their defaults.
  ///
  /// ```swift
  /// let roast = SeedRecord("roast", of: SpeechType.self, ["name": "Roast"])
  /// let speech = SeedRecord("first", of: Speech.self, ["title": "To my friends"], references: ["type": "roast"])
  /// ```
  /// - Parameters:
  ///   - key: the permanent identity of the record within its set. Never change or translate it.
  ///   - record: the type of the record.
  ///   - fields: the values by field.
  ///   - references: the key of a seed of the same set for each reference.
  ///   - relationships: the keys of the members for each relationship.
  public init<Record: Entity>(
    _ key: String, of record: Record.Type, _ fields: [String: Value] = [:], references: [String: String] = [:],
    relationships: [String: [String]] = [:]
  ) {
    self.init(
      key, type: Record.schema.type, fields, references: references, relationships: relationships)
  }

  /// Declares a record with the values of a record of the app, except for its `id` and its references.
  ///
  /// ```swift
  /// let toast = try SeedRecord("toast", SpeechType(name: "Toast", seconds: 120))
  /// ```
  ///
  /// All of its columns are part of the set's content, including those with default values: the current date would make
  /// a different set on each device.
  /// - Parameters:
  ///   - key: the permanent identity of the record within its set.
  ///   - record: the values.
  ///   - references: the key of a seed of the same set for each reference.
  ///   - relationships: the keys of the members for each relationship.
  /// - Throws: errors of encoding the record.
  public init<Record: Entity & EncodableRecord>(
    _ key: String, _ record: Record, references: [String: String] = [:], relationships: [String: [String]] = [:]
  ) throws {
    let known = Set(Record.schema.fields.map(\.name))
    let values = try record.databaseDictionary.filter { known.contains($0.key) }.mapValues { Value($0) }
    self.init(
      key, type: Record.schema.type, values, references: references, relationships: relationships)
  }
}

/// The type and key of one record of a seed set, to retire it.
///
/// ```swift
/// let next = SeedSet("speeches", version: 3, records: [], retired: [SeedKey("roast", of: SpeechType.self)])
/// ```
///
/// A retired record disappears where it was not edited, even on devices that skip the version that retires it, as long
/// as later versions keep listing it. It stays where a person has edited it or created a record that it owns. See
/// ``SeedSet/retired``.
public struct SeedKey: Sendable, Hashable {
  /// The key of the record within its set.
  public var key: String
  /// The type of the record.
  public var type: String

  /// Names a seed of a type that is known only by name. Apps use `init(_:of:)`.
  /// - Parameters:
  ///   - key: the key under which an earlier version declared the record.
  ///   - type: the name of the entity, as in its `EntitySchema`.
  public init(_ key: String, type: String) {
    self.key = key
    self.type = type
  }

  /// Names a seed of an entity, to retire it.
  ///
  /// ```swift
  /// let next = SeedSet("speeches", version: 3, records: [], retired: [SeedKey("roast", of: SpeechType.self)])
  /// ```
  ///
  /// Where the record was not edited, it disappears with the version that retires it; where it was edited, it stays.
  /// Keep the key in `retired` in later versions, for devices that skip this one.
  public init<Record: Entity>(_ key: String, of record: Record.Type) { self.init(key, type: Record.schema.type) }
}

/// A rule for recognizing the default data of app versions before seed sets: inserts whose ids differ on each device.
///
/// ```swift
/// let rule = SeedAdoption(of: SpeechType.self, matching: ["name"])
/// let set = SeedSet(
///   "speeches", version: 1, records: [SeedRecord("toast", of: SpeechType.self, ["name": "Toast"])], adoptions: [rule])
/// try store.seed(set)
/// ```
///
/// A record counts as a duplicate of a seed if its natural key equals that of some version of the seed, if it is
/// untouched according to `present` and `absent`, and if it has not changed since it was inserted on this device. Then
/// everything that refers to the duplicate refers to the seed instead, members move to the seed, attributes that the
/// seed leaves open keep the newest value, and the duplicate is deleted. A concurrent edit of the duplicate on any
/// device keeps it, even where deletes win. A member that another device meanwhile added to the duplicate moves to the
/// seed at the next call of ``Store/seed(_:)``; a member that a person removed from the seed stays out.
public struct SeedAdoption: Sendable, Hashable {
  /// The type of the records to which the rule applies.
  public var type: String
  /// The fields that identify the seed that a record duplicates: its natural key.
  public var matching: [String]
  /// Fields that an untouched record has, such as the date of its creation.
  public var present: [String]
  /// Fields that an untouched record does not have, such as the date of its last change.
  public var absent: [String]

  /// Declares a rule for a type that is known only by name. Apps use `init(of:matching:present:absent:)`, which
  /// describes the parameters.
  public init(type: String, matching: [String], present: [String] = [], absent: [String] = []) {
    self.type = type
    self.matching = matching
    self.present = present
    self.absent = absent
  }

  /// Declares a rule for an entity: which of its records are duplicates of a seed.
  ///
  /// ```swift
  /// let rule = SeedAdoption(of: SpeechType.self, matching: ["name"])
  /// ```
  /// - Parameters:
  ///   - record: the type of the records and of the seeds.
  ///   - matching: the fields that together identify the seed that a record duplicates. All must equal those of some
  ///     version of the seed.
  ///   - present: fields that are not null in an untouched record.
  ///   - absent: fields that are null in an untouched record, such as the date of its last change.
  public init<Record: Entity>(
    of record: Record.Type, matching: [String], present: [String] = [], absent: [String] = []
  ) {
    self.init(type: Record.schema.type, matching: matching, present: present, absent: absent)
  }
}
