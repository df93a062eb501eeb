import TallyCRDT
import TallyWire

/// The changes of the last transaction, kept in memory so that its delta is not read back from the file: a live peer
/// nearly always lacks the last transaction and nothing else.
///
/// A delta-interval in the sense of Almeida, Shoker and Baquero ("Delta state replicated data types", 2016), of one
/// transaction. Only the ordinary is kept: few records and links, small ones, none that was ever deleted or is a
/// seed's. For anything else there is no buffer, and the delta is read.
struct DeltaBuffer: Sendable {
  private struct Record {
    let name: AnyRecordName
    let kind: RecordKind
    let state: RecordState
  }

  private struct Link {
    let key: LinkKey
    let kind: LinkKind
    let element: ORSetElement
  }

  /// The vector before the transaction. Everything in the store that it does not cover is here.
  let before: StateVector
  private var records: [Record] = []
  private var links: [Link] = []
  private var byteCount = 0
  /// Whether it holds all that has changed. Otherwise it is of no use.
  private(set) var isComplete = true

  private static let mostItems = 16
  private static let mostBytes = 1 << 14

  init(before: StateVector) { self.before = before }

  /// Says that something has changed that is not kept here.
  mutating func giveUp() { (isComplete, records, links) = (false, [], []) }

  private mutating func makeRoom(_ bytes: Int) -> Bool {
    guard isComplete else { return false }
    byteCount += bytes
    if records.count + links.count >= Self.mostItems || byteCount > Self.mostBytes { giveUp() }
    return isComplete
  }

  /// Notes that a record has got cells that its state was without.
  mutating func note(_ key: RecordKey, _ kind: RecordKind, added state: RecordState) throws {
    guard isComplete, makeRoom(state.approximateByteCount) else { return }
    let name = try key.name(type: kind.type)
    // What was noted before may have been superseded, and would have left a touch.
    guard !records.contains(where: { $0.name == name }) else { return giveUp() }
    records.append(Record(name: name, kind: kind, state: state))
  }

  /// Notes the state that a record has now.
  mutating func note(_ name: AnyRecordName, _ kind: RecordKind, whole state: RecordState) {
    guard isComplete else { return }
    guard state.deletes.isEmpty, state.seed == nil, state.life == nil else { return giveUp() }
    // Most of it is old, and goes when it is known that it fits.
    guard let new = state.delta(since: before), makeRoom(new.approximateByteCount) else { return giveUp() }
    let record = Record(name: name, kind: kind, state: new)
    if let known = records.firstIndex(where: { $0.name == name }) {
      records[known] = record
    } else {
      records.append(record)
    }
  }

  /// Notes the state that a link has now.
  mutating func note(_ key: LinkKey, _ kind: LinkKind, whole element: ORSetElement) {
    guard isComplete else { return }
    guard let new = element.delta(since: before),
      makeRoom(64 + 16 * new.tags.count + (new.place?.position.bytes.count ?? 0))
    else { return giveUp() }
    let link = Link(key: key, kind: kind, element: new)
    if let known = links.firstIndex(where: { $0.key == key && $0.kind.number == kind.number }) {
      links[known] = link
    } else {
      links.append(link)
    }
  }

  /// Hands out the blocks of what a header's base does not cover, as `DeltaSource` does: the same bytes. The base must
  /// cover `before`.
  func forEachBlock(_ header: DeltaHeader, _ shared: SharedCatalog, _ body: (BlockDraft) throws -> Void) throws {
    var builder = BlockBuilder(catalog: shared.catalog, base: header.base, target: header.target)
    let known = shared.catalog.orderedKinds.map(\.number)
    var unknown: [KindNumber] = []
    for record in records where !known.contains(record.kind.number) && !unknown.contains(record.kind.number) {
      unknown.append(record.kind.number)
    }
    for kind in known + unknown.sorted() {
      let group = records.filter { $0.kind.number == kind }
      for record in group.count < 2 ? group : group.sorted(by: Self.isInOrder) {
        try builder.add(record.name, record.kind, record.state, body)
      }
    }
    let sorted = links.sorted {
      ($0.kind.number, $0.key.source, $0.key.target) < ($1.kind.number, $1.key.source, $1.key.target)
    }
    for link in sorted { try builder.add(link.key, link.kind, link.element, body) }
    try builder.handOut(body)
  }

  /// As `LoggedKeys`: UUIDs first, which are in the order of their digits.
  private static func isInOrder(_ one: Record, _ other: Record) -> Bool {
    let (isText, isOtherText) = (RecordKey(one.name).isText, RecordKey(other.name).isText)
    return isText == isOtherText ? one.name < other.name : isOtherText
  }
}
