import TallyCRDT
import TallyWire

/// The records and links that some rows of the change log list, each once, in the order of their keys.
///
/// Keys that are UUIDs stay two numbers until a record is looked up: a delta of many edits would otherwise make, hash
/// and sort a text for each of them.
struct LoggedKeys {
  private struct UUIDKey: Comparable {
    var high, low: UInt64

    static func < (one: UUIDKey, other: UUIDKey) -> Bool {
      one.high != other.high ? one.high < other.high : one.low < other.low
    }
  }

  private struct Group {
    let kind: KindNumber
    let type: String
    let link: LinkKind?
    var uuids: [UUIDKey] = []
    var texts = Set<AnyRecordName>()
    var links = Set<LinkKey>()
  }

  private let catalog: Catalog
  private let limit: Int
  private var groups: [Group] = []
  /// The group of the item that was added last.
  private var current = 0
  /// How many there are, some of them more than once.
  private var count = 0

  /// Creates a list that is full with more than `limit` items.
  init(_ catalog: Catalog, limit: Int) { (self.catalog, self.limit) = (catalog, limit) }

  /// The kinds of what is listed.
  var kinds: [KindNumber] { groups.map(\.kind) }

  /// Whether there are more than `limit` records and links.
  var isFull: Bool {
    mutating get {
      // A record that was edited often is listed as often.
      guard count > 2 * limit else { return false }
      sort()
      return count > limit
    }
  }

  /// Adds the items of one row of the table, of its entries of sequences greater than `least`.
  /// - Throws: `StoreError` of code `corrupt` for bytes that are none.
  mutating func add(
    row: UnsafeRawBufferPointer, _ replica: ReplicaNumber, _ sequence: Int64, beyond least: UInt64
  ) throws(StoreError) {
    do throws(WireError) {
      try LogRow.forEach(row, replica, sequence) { head, items throws(WireError) in
        if UInt64(clamping: sequence) - head.sequenceBack > least { try read(items) }
      }
    } catch {
      throw StoreError(stored: error)
    }
  }

  /// Adds the items of one entry.
  /// - Throws: `StoreError` of code `corrupt` for bytes that are none.
  mutating func add(_ items: UnsafeRawBufferPointer) throws(StoreError) {
    do throws(WireError) { try read(items) } catch { throw StoreError(stored: error) }
  }

  private mutating func read(_ items: UnsafeRawBufferPointer) throws(WireError) {
    var reader = ByteReader(items)
    while reader.remaining > 0 {
      let head = try reader.varint()
      try turn(to: KindNumber(rawValue: Int(truncatingIfNeeded: head >> 2)))
      count += 1
      guard let link = groups[current].link else {
        if head & 1 == 0 {
          groups[current].uuids.append(UUIDKey(high: try reader.fixed(), low: try reader.fixed()))
        } else {
          groups[current].texts.insert(try reader.recordName(type: groups[current].type, isText: true).1)
        }
        continue
      }
      let source = try reader.recordName(type: link.source, isText: head & 1 != 0).1
      let target = try reader.recordName(type: link.target, isText: head & 2 != 0).1
      groups[current].links.insert(LinkKey(source: source, target: target))
    }
  }

  private mutating func turn(to kind: KindNumber) throws(WireError) {
    if current < groups.count, groups[current].kind == kind { return }
    if let known = groups.firstIndex(where: { $0.kind == kind }) {
      current = known
      return
    }
    let link = catalog.links[kind]
    guard let type = catalog.records[kind]?.type ?? link?.source else {
      throw WireError(.malformed, "the log names an unknown kind")
    }
    current = groups.count
    groups.append(Group(kind: kind, type: type, link: link))
  }

  /// Brings the keys in order, each once.
  mutating func sort() {
    count = 0
    for index in groups.indices {
      groups[index].uuids.sort()
      groups[index].uuids.removeRepetitions()
      count += groups[index].uuids.count + groups[index].texts.count + groups[index].links.count
    }
  }

  /// Calls `isDone` with each key of a kind that is a UUID, and `body` with the records for which it returns false, and
  /// with all others, in order.
  func forEachRecord(
    _ kind: RecordKind, isDone: (_ high: UInt64, _ low: UInt64) throws -> Bool, others body: (LoggedName) throws -> Void
  ) throws {
    guard let group = groups.first(where: { $0.kind == kind.number }) else { return }
    let buffer = NameBuffer(count: 1)
    for key in group.uuids where try !isDone(key.high, key.low) {
      buffer.removeAll()
      let bytes = buffer.add(kind.typePrefix, key.high, key.low)
      try body(LoggedName(key: .uuid(high: key.high, low: key.low), bytes: bytes, type: kind.type))
    }
    for name in group.texts.sorted() {
      var text = name.text
      try text.withUTF8 { try body(LoggedName(key: RecordKey(name), bytes: $0, type: kind.type)) }
    }
  }

  /// The links of a kind, in order.
  func links(_ kind: KindNumber) -> [LinkKey] {
    let links = groups.first { $0.kind == kind }?.links ?? []
    return links.sorted { ($0.source, $0.target) < ($1.source, $1.target) }
  }
}

/// The name of a record as bytes, which are gone with the next one.
struct LoggedName {
  let key: RecordKey
  let bytes: UnsafeBufferPointer<UInt8>
  fileprivate let type: String

  /// The name as a value.
  /// - Throws: `StoreError.corrupt` if there is no such name.
  func name() throws(StoreError) -> AnyRecordName {
    do { return try key.name(type: type) } catch { throw StoreError(stored: error) }
  }
}

extension Array where Element: Equatable {
  /// Leaves one of equal elements that follow each other.
  fileprivate mutating func removeRepetitions() {
    var end = 0
    for index in indices where index == 0 || self[index] != self[end - 1] {
      if index != end { self[end] = self[index] }
      end += 1
    }
    removeSubrange(end...)
  }
}
