import Synchronization
import TallyCRDT
import TallySync

/// A folder as one device sees it: files of others arrive when the world says so.
final class SimulatedMailbox: FileMailbox {
  private let shelf: SimulatedShelf
  private let device: Int
  var name: String { "shelf" }

  init(_ shelf: SimulatedShelf, _ device: Int) { (self.shelf, self.device) = (shelf, device) }

  func list(prefix: String) throws -> [MailboxItem] {
    let items = try shelf.files.list(prefix: prefix).filter { !shelf.isHidden($0.name, device) }
    return shelf.tampering?.listing(items, by: device) ?? items
  }

  func get(_ name: String) throws -> () throws -> [UInt8]? {
    guard !shelf.isHidden(name, device) else { throw MailboxError(.noSuchFile, "there is no such file") }
    return try shelf.files.get(name)
  }

  func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    try shelf.files.put(name, from: source)
    shelf.put(name, device)
  }

  func remove(_ name: String) throws { try shelf.files.remove(name) }
}

/// The storage that all mailboxes of a world share: a folder, or a log.
final class SimulatedShelf: Sendable {
  private struct Way: Hashable {
    var name: String
    var device: Int
  }

  private struct State {
    /// The devices that a file has reached.
    var arrived: Set<Way> = []
    var isSlow = false
  }

  let tampering: (any Tampering)?
  /// The log in a world whose devices use a relay; nil if they use a folder.
  let log: MemoryLog?
  let files = MemoryMailbox(name: "shelf", identity: "shelf")
  private let state = Mutex(State())

  init(_ tampering: (any Tampering)?, isLog: Bool) {
    self.tampering = tampering
    log = isLog ? MemoryLog(name: "shelf", pageSize: 4, inlineBytes: 200) : nil
  }

  /// The mailbox of a device.
  func mailbox(_ device: Int) -> any Mailbox { log ?? SimulatedMailbox(self, device) }

  /// Whether files that are put from now on arrive one by one.
  var isSlow: Bool {
    get { state.withLock { $0.isSlow } }
    set { state.withLock { $0.isSlow = newValue } }
  }

  func isHidden(_ name: String, _ device: Int) -> Bool {
    state.withLock { $0.isSlow && !$0.arrived.contains(Way(name: name, device: device)) }
  }

  func put(_ name: String, _ device: Int) {
    state.withLock { _ = $0.arrived.insert(Way(name: name, device: device)) }
    tampering?.notePut(name)
  }

  /// Lets a file reach a device.
  func arrive(_ name: String, _ device: Int) { put(name, device) }

  var names: [String] { log?.names ?? files.files.map(\.name) }
}
