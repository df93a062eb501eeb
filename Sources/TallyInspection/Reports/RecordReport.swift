import TallyAssets
import TallyCRDT
import TallyStore
import TallySync

/// Everything that one store knows of one record.
package struct RecordReport: Sendable, Codable {
  /// The write that a field shows.
  package struct Field: Sendable, Codable {
    /// The column's name; the wire name where the schema has no column.
    package var field: String
    /// The value, or its beginning.
    package var value: ValuePreview
    /// Who wrote it.
    package var written: StampReport
    /// Why the app does not see the value; nil if it does.
    package var hiddenBecause: String?
    /// The file that the value names; nil unless the field is of the kind `asset` and has a value.
    package var file: File?
  }

  /// A file that a field names.
  package struct File: Sendable, Codable {
    /// Whether it is on this device, with its whole length.
    package var isHere: Bool
    /// The number of its bytes, as its name says.
    package var bytes: Int
    /// Whether its type is that of a picture that a page shows, and it is not too long for that.
    package var isPicture: Bool
  }

  /// A delete, or a removal of content for good, and what its author had seen.
  package struct Deletion: Sendable, Codable {
    /// The author and the time.
    package var written: StampReport
    /// The author's vector at that time: sequences by replica.
    package var context: [String: UInt64]
  }

  /// A link to another record.
  package struct Link: Sendable, Codable {
    /// An add, and its removal.
    package struct Tag: Sendable, Codable {
      /// Who added.
      package var added: StampReport
      /// The author of the removal; nil if there is none.
      package var removed: StampReport?
    }

    /// The relationship.
    package var relationship: String
    /// The other end.
    package var target: String
    /// Whether the app sees it.
    package var isVisible: Bool
    /// The adds.
    package var tags: [Tag]
    /// Who gave it its place in an ordered relationship; nil if it has none.
    package var placed: StampReport?
  }

  /// The record's name.
  package var name: String
  /// What it is called, or the first of its texts; empty if there is none.
  package var title = ""
  /// Whether the app sees it, and why not.
  package var presence: PresenceReport
  /// The latest insert or restore.
  package var existence: StampReport?
  /// The fields, by name.
  package var fields: [Field] = []
  /// The deletes.
  package var deletes: [Deletion] = []
  /// The removal of content that what the record holds now is later than; nil if there was none.
  package var emptying: Deletion?
  /// The links, as many as fit on a page.
  package var links: [Link] = []
  /// The writes to it that lost, newest first.
  package var conflicts: [ConflictReport] = []
  /// The versions of default data that are here.
  package var seedVersions: [Int] = []
  /// The devices that are known to have all of it, by replica; others may have it.
  package var seenBy: [String: Bool] = [:]

  /// The most links of one relationship that are listed.
  package static let linkLimit = 100

  /// The report of a store that cannot be read.
  package init(of name: AnyRecordName, unreadable reason: String) {
    (self.name, presence) = (name.text, PresenceReport(unreadable: reason))
  }

  /// The report of a record in a store. A record of which nothing is known has a report too, which says so.
  /// - Throws: what reading the store throws.
  package init(of name: AnyRecordName, in store: Store, _ directory: ReplicaDirectory) throws {
    self.name = name.text
    presence = PresenceReport(of: name, try store.presence(of: name), directory)
    guard let history = try store.history(of: name) else { return }
    let entity = try store.schema[name.type]
    existence = history.existence.map { StampReport($0) }
    fields = Self.counted(history.fields).map { field in
      Field(
        field: entity?.columnName(field.field) ?? field.field, value: ValuePreview(field.value),
        written: StampReport(field.stamp), hiddenBecause: field.hiddenReason,
        file: Self.file(of: field, entity, in: store))
    }
    title = RecordTitle.text(fields.map { ($0.field, $0.value) }, entity, count: 1)
    deletes = history.deletes.map { Deletion(written: StampReport($0.stamp), context: report($0.context)) }
    emptying = try store.emptying(of: name).map {
      Deletion(written: StampReport($0.stamp), context: report($0.context))
    }
    let links = try store.links(of: name, limit: Self.linkLimit)
    self.links = links.map { link in
      let tags = link.tags.map { Link.Tag(added: StampReport($0.added), removed: $0.removed.map { StampReport($0) }) }
      return Link(
        relationship: link.relationship, target: link.target.text, isVisible: link.isVisible, tags: tags,
        placed: link.place.map { StampReport($0.stamp) })
    }
    conflicts = history.conflicts.map { ConflictReport($0) }
    seedVersions = history.seed?.versions ?? []
    let dots = try store.dots(of: name)
    for device in try store.devices() { seenBy["\(device.id)"] = dots.allSatisfy(device.acknowledged.covers) }
  }
}

extension RecordReport {
  /// The file that a field's value names. Of a store in memory none is here.
  private static func file(of field: FieldHistory, _ entity: EntitySchema?, in store: Store) -> File? {
    guard entity?.fields.first(where: { $0.wireName == field.field })?.kind == .asset,
      case .text(let text) = field.value, let name = AssetName(text)
    else { return nil }
    return File(
      isHere: (try? store.assets.url(of: name)) != nil, bytes: name.byteCount,
      isPicture: PictureType.extensions.contains(name.type) && name.byteCount <= PictureType.fileLimit)
  }

  /// One entry for each field: of a counter its number with all that devices have added, under the newest of the
  /// stamps. Its own entry comes before those of devices.
  private static func counted(_ fields: [FieldHistory]) -> [FieldHistory] {
    var counted: [FieldHistory] = []
    for field in fields {
      guard field.isAddition, case .integer(let number) = field.value, let last = counted.indices.last,
        counted[last].field == field.field, case .integer(let sum) = counted[last].value
      else {
        counted.append(field)
        continue
      }
      let (total, overflows) = sum.addingReportingOverflow(number)
      counted[last].value = .integer(overflows ? (number > 0 ? .max : .min) : total)
      counted[last].stamp = max(counted[last].stamp, field.stamp)
    }
    return counted
  }
}

extension Store {
  /// The transactions that what is known of a record and its members comes from: writes, deletes, removals of content,
  /// versions of default data, adds and removals of members, of these as many as a page has.
  package func dots(of name: AnyRecordName) throws -> [Dot] { try snapshot { try $0.dots(of: name) } }
}

extension StateReader {
  /// The same in a snapshot.
  func dots(of name: AnyRecordName) throws -> [Dot] {
    guard let kind = catalog.kind(of: name.type) else { return [] }
    var dots = try record(name, kind)?.state.dots ?? []
    for link in try links(of: name, limit: TouchedNames.linkLimit) {
      for tag in link.tags { dots.formUnion([tag.added, tag.removed].compactMap { $0?.dot }) }
      if let place = link.place { dots.insert(place.stamp.dot) }
    }
    return dots.sorted()
  }
}

extension Store {
  /// The life of a record whose beginning removed content and said nothing; nil if a write began it, or nothing has.
  package func emptying(of name: AnyRecordName) throws -> Life? {
    try snapshot { reader in
      guard let kind = reader.catalog.kind(of: name.type), let state = try reader.record(name, kind)?.state,
        let life = state.life
      else { return nil }
      let written = [state.existence?.dot, life.said] + life.vias.map(\.dot) + state.fields.map(\.stamp.dot)
      return written.contains(life.dot) ? nil : life
    }
  }
}

extension EntitySchema {
  /// The column of a wire name; nil if the schema has none.
  package func columnName(_ wireName: String) -> String? {
    fields.first { $0.wireName == wireName }?.name ?? references.first { $0.name == wireName }?.name
  }
}
