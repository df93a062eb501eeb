import Foundation
import TallyCRDT
import TallyStore
import TallyWire

/// The state of a mailbox that a store remembers, so that it reads nothing twice: how far it has read, which entries
/// there are, and what those hold.
///
/// It is kept in the store's file, and committed together with the content of an entry: a store never remembers to have
/// joined what it has not. All of it is about the mailbox and about content that is in the same file, and nothing about
/// the replica, so it is as true in a copy of the file or in one that was set back. Without it everything is read
/// again, nothing else.
struct MailboxMemory {
  /// The facts that are known about an entry. One of which only the name is known is read by the next pass.
  struct Entry: Hashable {
    /// `MailboxItem.version` when it was read.
    var version: String?
    var byteCount: Int?
    /// The content of the entry; nil if that is not known.
    var content: EntryContent?
    /// Whether it was read to its end, and its checksum fits.
    var isVerified = false
    /// Whether the store has joined all of it, without regard to its vector.
    var isJoined = false
    /// Whether this store has put it behind what it has read, so that the cursor does not vouch for it: a log that goes
    /// back to a position after the cursor loses it, and looks as if it had not gone back at all.
    var isBehindCursor = false
    /// The day, counted from 1970, since when it holds what this store has removed for good; nil if it does not.
    var staleSince: Int?
    /// The header of an entry that names another one which this store does not know; nil once it is known.
    var relative: RelativeHeader?
    /// The beginning of an entry that this version cannot read. Whether it still cannot is asked of these bytes, and
    /// not of the mailbox.
    var unreadableHead: [UInt8]?
  }

  /// A forgotten snapshot: the form in which a header names it, its target, and its size.
  struct Past: Hashable {
    var reference: RelativeHeader.Reference
    var target: StateVector
    var byteCount: Int
  }

  private let store: Store
  private let scope: String
  /// When a doubt arose that the memory is younger than, in milliseconds; 0 without a doubt.
  private var doubt: Int64 = 0
  private var canBeWritten = true
  /// Whether what is in the file goes with the next writing.
  private var isReplacing = false
  /// The cursor from which to continue; nil to list everything.
  var cursor: MailboxCursor?
  private(set) var entries: [String: Entry] = [:]
  /// Where forgotten entries led to, the latest last: headers that come late may name them.
  private(set) var past: [Past] = []
  /// The fewest replicas of an entry that is kept in `past`: to name one with fewer would save nothing.
  var fewestPast = 8
  /// The checksums of what was joined.
  private var joined: Set<UInt64> = []
  /// The notes that are in the file.
  private var saved: [String: [UInt8]] = [:]

  /// Reads what the store remembers. What cannot be read, or was noted before what is stored here was in doubt, counts
  /// for nothing.
  /// - Throws: what the store throws; `MailboxError` for an identity that is too long.
  init(of mailbox: any Mailbox, in store: Store) throws {
    guard mailbox.identity.utf8.count <= MailboxLimits.identityBytes else {
      throw MailboxError(.malformed, "the identity of the mailbox has more than \(MailboxLimits.identityBytes) bytes")
    }
    (self.store, scope) = (store, NoteBatch.mailboxes + mailbox.identity)
    doubt = try Self.doubt(of: store)
    let notes = try store.notes(scope)
    (canBeWritten, isReplacing, saved) = (notes.canBeWritten, notes.isDamaged, notes.values)
    do throws(WireError) { try decode() } catch { forget() }
  }

  private static func doubt(of store: Store) throws -> Int64 {
    try store.doubt().map { Int64($0.date.timeIntervalSince1970 * 1000) } ?? 0
  }

  /// Goes on after what is stored was healed: what is remembered from now on is remembered under the doubt that is
  /// left, and what was joined before counts for nothing.
  mutating func followDoubt() throws {
    let doubt = try Self.doubt(of: store)
    guard doubt != self.doubt else { return }
    self.doubt = doubt
    joined = []
    for name in entries.keys { entries[name]?.isJoined = false }
  }

  /// Notes that a store has joined what an entry holds. `isVerified` says whether it was read to its end.
  mutating func noteJoined(_ item: MailboxItem, _ content: EntryContent, isVerified: Bool) {
    var entry = entries[item.name] ?? Entry(version: item.version, byteCount: item.byteCount)
    (entry.content, entry.isJoined) = (content, true)
    entry.isVerified = entry.isVerified || isVerified
    entries[item.name] = entry
    joined.insert(content.check)
  }

  private mutating func decode() throws(WireError) {
    guard let head = saved[Self.headKey] else { return forget() }
    let (cursor, doubt) = try Self.decodeHead(head)
    let past = try saved[Self.pastKey].map(Self.decodePast) ?? []
    guard doubt == self.doubt else {
      forget()
      // A doubt about the store's content does not concern the targets of other devices' snapshots.
      self.past = past
      return
    }
    self.cursor = cursor
    for (name, bytes) in saved where name != Self.headKey && name != Self.pastKey { entries[name] = try Entry(bytes) }
    self.past = past
    joined = Set(entries.values.lazy.filter(\.isJoined).compactMap(\.content?.check))
  }

  /// Begins again.
  private mutating func forget() {
    isReplacing = isReplacing || !saved.isEmpty
    (cursor, entries, joined, saved, past) = (nil, [:], [], [:], [])
  }

  // MARK: Entries

  subscript(name: String) -> Entry? {
    get { entries[name] }
    set {
      if newValue?.content == nil, let old = entries[name], let content = old.content { notePast(name, content) }
      entries[name] = newValue
    }
  }

  /// Keeps where an entry led to that is forgotten, if another one may name it.
  private mutating func notePast(_ name: String, _ content: EntryContent) {
    guard content.reference == nil, content.header.base.isEmpty, content.header.target.count >= fewestPast,
      case .file(let name) = MailboxFileName.parse(name), name.check == content.check
    else { return }
    let new = Past(reference: name.reference, target: content.header.target, byteCount: content.byteCount)
    // One with damaged bytes may have led elsewhere. Headers have a hash of what they mean.
    past.removeAll { $0.reference == new.reference && $0.target == new.target }
    past.append(new)
    var count = past.reduce(0) { $0 + $1.target.count }
    while past.count > MailboxLimits.pastEntries || count > MailboxLimits.pastVectorEntries {
      count -= past.removeFirst().target.count
    }
  }

  /// Returns what is known of an entry, if it is still the same.
  func entry(for item: MailboxItem, in kind: MailboxKind) -> Entry? {
    guard let entry = entries[item.name], entry.version == item.version else { return nil }
    return item.version == nil && kind == .folder ? nil : entry
  }

  /// Whether a content was joined, under any name.
  func hasJoined(_ check: UInt64) -> Bool { joined.contains(check) }

  /// Returns the vector that a store that has nothing reaches from the entries that are known to be readable.
  func reach(in kind: MailboxKind) -> StateVector {
    let files = entries.compactMap { name, entry -> MailboxShelf.File? in
      guard entry.isVerified || kind == .log, let content = entry.content,
        case .file(let name) = MailboxFileName.parse(name)
      else { return nil }
      return MailboxShelf.File(name, content)
    }
    return MailboxShelf(kind: kind, files).reach()
  }

  // MARK: Keeping

  /// Writes what has changed. Costs nothing if nothing has.
  mutating func save() throws {
    let new = encoded()
    let batch = batch(to: new)
    guard canBeWritten, isReplacing || !batch.values.isEmpty else { return }
    try store.note(batch)
    (saved, isReplacing) = (new, false)
  }

  /// Returns the notes to commit with the content of an entry.
  func batch(joining name: String, _ entry: Entry) -> NoteBatch? {
    guard canBeWritten, !isReplacing, saved[Self.headKey] != nil else { return nil }
    return NoteBatch(scope, [name: entry.encoded])
  }

  /// Says that this is in the file.
  mutating func join(_ name: String, _ entry: Entry, _ batch: NoteBatch?) {
    entries[name] = entry
    if let check = entry.content?.check { joined.insert(check) }
    if batch != nil { saved[name] = entry.encoded }
  }

  private func batch(to new: [String: [UInt8]]) -> NoteBatch {
    var values: [String: [UInt8]?] = [:]
    for (key, value) in new where isReplacing || saved[key] != value { values[key] = value }
    if !isReplacing { for key in saved.keys where new[key] == nil { values[key] = .some(nil) } }
    return NoteBatch(scope, values, isReplacing: isReplacing)
  }

  /// With a cursor every name counts, since it is not listed again; without one only what was read.
  private func encoded() -> [String: [UInt8]] {
    var values: [String: [UInt8]] = [:]
    for (name, entry) in entries
    where cursor != nil || entry.content != nil || entry.unreadableHead != nil || entry.relative != nil {
      values[name] = entry.encoded
    }
    if !past.isEmpty { values[Self.pastKey] = encodedPast }
    // A place with nothing in it needs no memory.
    if !values.isEmpty || cursor != nil || !saved.isEmpty { values[Self.headKey] = encodeHead(doubt) }
    return values
  }
}

/// The content of a verified entry.
struct EntryContent: Hashable {
  var header: DeltaHeader
  /// The entry that its header names for the vectors; nil if they are written out.
  var reference: RelativeHeader.Reference?
  var check: UInt64
  var byteCount: Int
}
