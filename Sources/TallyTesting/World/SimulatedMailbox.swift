import Synchronization
import TallyCRDT
import TallySync

/// A mailbox as one device sees it: files of others arrive when the world says so.
final class SimulatedMailbox: Mailbox {
  private let shelf: SimulatedShelf
  private let device: Int
  let notes = MailboxNotes()
  var name: String { "shelf" }

  init(_ shelf: SimulatedShelf, _ device: Int) { (self.shelf, self.device) = (shelf, device) }

  func list(prefix: String) throws -> [MailboxItem] {
    let items = try shelf.files.list(prefix: prefix).filter { !shelf.isHidden($0.name, device) }
    return shelf.skipsLate ? items.filter { shelf.isInOrder($0.name, device) } : items
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

/// What all mailboxes of a world share.
final class SimulatedShelf: Sendable {
  private struct Way: Hashable {
    var name: String
    var device: Int
  }

  private struct State {
    /// The devices that a file has reached.
    var arrived: Set<Way> = []
    var isSlow = false
    /// Numbers files in the order of their coming.
    var numbers: [String: Int] = [:]
    var listed: [Int: (known: Set<String>, last: Int)] = [:]
  }

  /// A planted fault: devices list only what is newer than what they have listed.
  let skipsLate: Bool

  init(planted: PlantedFault) { skipsLate = planted.contains(.lateListingSkipped) }

  func isInOrder(_ name: String, _ device: Int) -> Bool {
    state.withLock { state in
      let number = state.numbers[name] ?? 0
      var (known, last) = state.listed[device] ?? ([], 0)
      guard known.contains(name) || number > last else { return false }
      known.insert(name)
      last = max(last, number)
      state.listed[device] = (known, last)
      return true
    }
  }

  let files = MemoryMailbox(name: "shelf")
  private let state = Mutex(State())

  /// Whether files that are put from now on arrive one by one.
  var isSlow: Bool {
    get { state.withLock { $0.isSlow } }
    set { state.withLock { $0.isSlow = newValue } }
  }

  func isHidden(_ name: String, _ device: Int) -> Bool {
    state.withLock { $0.isSlow && !$0.arrived.contains(Way(name: name, device: device)) }
  }

  func put(_ name: String, _ device: Int) {
    state.withLock { state in
      if state.numbers[name] == nil { state.numbers[name] = state.numbers.count + 1 }
      state.arrived.insert(Way(name: name, device: device))
    }
  }

  /// Lets a file reach a device.
  func arrive(_ name: String, _ device: Int) { put(name, device) }

  var names: [String] { files.files.map(\.name) }
}
