import Foundation
import Synchronization
import TallyCRDT
import TallyStore
import TallyWire

/// The account whose data an app shows: a signed-in person's or the device's own.
///
/// ```swift
/// let account = container.current
/// print(account == .local ? "not signed in" : "signed in as \(account)")
/// ```
///
/// Each account has a store of its own in the folder of a ``Container``. ``Container/signIn(_:localData:)`` and
/// ``Container/signOut()`` switch between them. Tally has no accounts of its own and asks no server: an id is any text
/// that the app chooses.
public enum Account: Sendable, Hashable, CustomStringConvertible {
  /// No one is signed in; the data belongs to the device.
  case local
  /// A person, identified by the id from the account's service. It is any text; the file is named after a hash of it.
  case person(String)

  /// The text `local`, or the person's id.
  public var description: String {
    switch self {
    case .local: "local"
    case .person(let id): id
    }
  }
}

/// The treatment of data that was created while no one was signed in, when a person signs in.
///
/// ```swift
/// let store = try container.signIn("ann", localData: .copy)
/// ```
///
/// Joining is a merge, like a sync: data that the account already has is neither duplicated nor overwritten, seeds are
/// the same records on both sides, and the later of two writes of one field wins. It happens before
/// ``Container/signIn(_:localData:)`` returns. If it fails, no one is signed in, and the local data is unchanged.
public enum LocalData: Sendable {
  /// It stays in the local store and is shown again after signing out.
  case keepApart
  /// It is joined into the account's data and also stays in the local store.
  case copy
  /// It is joined into the account's data, and the local store is put aside: after signing out the app begins empty.
  /// Nothing is deleted.
  case move
}

/// The stores of one app on one device: one for each account, and one for the time when no one is signed in.
///
/// ```swift
/// let container = try Container(directory: folder, schema: schema)
/// var store = try container.store()
/// store = try container.signIn("ann", localData: .move)
/// store = try container.signOut()
/// ```
///
/// Signing out and signing in as another person delete nothing: each account's file stays until ``erase(_:)`` is
/// called. Pause the sync engine of one store before you switch to another.
///
/// A container may be used from any thread; its calls wait for each other, and block while a store is opened or joined.
/// The current account is saved in the folder (`accounts.json`) and is the same at the next launch. Create only one
/// container for each folder: a second container, or one in another process, reads the file only when it is created.
public final class Container: Sendable {
  private struct Contents: Codable {
    var version = 1
    var current: String?
    /// The accounts by the name of their file.
    var people: [String: String] = [:]
    /// The name under which the local store is to be put aside, as long as that has not been done.
    var aside: String?
  }

  private struct State {
    var contents: Contents
    var open: [Account: Store] = [:]
  }

  /// The folder with the stores and the list of accounts.
  public let directory: URL
  private let schema: Schema
  private let options: StoreOptions
  private let state: Mutex<State>

  /// Opens the container in a folder, which is created if it does not exist. No store is opened yet.
  ///
  /// ```swift
  /// let container = try Container(directory: folder, schema: schema)
  /// ```
  /// - Parameters:
  ///   - directory: a folder for the container alone, for instance in the app's support folder.
  ///   - schema: the schema with which all of its stores are opened.
  ///   - options: the options with which all of its stores are opened.
  /// - Throws: `StoreError.invalidSchema`; `.newerFormat` or `.corrupt` for a list of accounts that cannot be read;
  ///   errors of the file system.
  public init(directory: URL, schema: Schema, options: StoreOptions = StoreOptions()) throws {
    try schema.validate()
    self.directory = directory
    self.schema = schema
    self.options = options
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    state = Mutex(State(contents: try Self.read(directory)))
  }

  private static let listName = "accounts.json"

  private static func read(_ directory: URL) throws -> Contents {
    let url = directory.appendingPathComponent(listName)
    guard FileManager.default.fileExists(atPath: url.path) else { return Contents() }
    let contents: Contents
    do {
      contents = try JSONDecoder().decode(Contents.self, from: try Data(contentsOf: url))
    } catch is DecodingError {
      throw StoreError(.corrupt, "the list of accounts is not readable")
    }
    guard contents.version == 1 else {
      throw StoreError(.newerFormat, "the list of accounts has version \(contents.version)")
    }
    return contents
  }

  private func write(_ contents: Contents) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    try encoder.encode(contents).write(to: directory.appendingPathComponent(Self.listName), options: .atomic)
  }

  // MARK: Accounts

  /// The account whose data the app shows: that of the last ``signIn(_:localData:)`` or ``signOut()``, including those
  /// of earlier launches. At first it is ``Account/local``.
  public var current: Account {
    state.withLock { $0.contents.current.map(Account.person) ?? .local }
  }

  /// The ids of all people who have signed in on this device and were not erased, in order, for a menu of accounts.
  public var people: [String] { state.withLock { $0.contents.people.values.sorted() } }

  /// Returns the store of the current account. The first call opens it; later calls return the same object.
  ///
  /// ```swift
  /// let store = try container.store()
  /// ```
  ///
  /// After `signIn` or `signOut` it is another store, which you must give to views and engines.
  /// - Throws: the errors of opening a store.
  public func store() throws -> Store { try store(of: current) }

  /// Returns the store of an account, current or not. The first call opens it; later calls return the same object. A
  /// store that does not exist is created, and the person is listed in ``people``.
  ///
  /// ```swift
  /// let store = try container.store(of: .person("ann"))
  /// ```
  ///
  /// The current account does not change.
  /// - Throws: the errors of opening a store.
  public func store(of account: Account) throws -> Store { try state.withLock { try open(account, &$0) } }

  /// Switches to a person's data and returns the person's store.
  ///
  /// ```swift
  /// let store = try container.signIn("ann", localData: .move)
  /// ```
  ///
  /// First pause the engine of the current store; afterwards give the returned store to views and engines. The person's
  /// store is created if this device has none. Signing in deletes nothing. With ``LocalData/move`` the local store is
  /// closed.
  ///
  /// Cost: with ``LocalData/copy`` and ``LocalData/move``, a sync of the local data into the account's.
  /// - Parameters:
  ///   - id: the person's id from the account's service; any text.
  ///   - localData: the treatment of data that was created while no one was signed in.
  /// - Returns: the person's store.
  /// - Throws: the errors of opening and joining. Then the current account is unchanged, nothing is lost, and the store
  ///   that was shown is open.
  public func signIn(_ id: String, localData: LocalData) throws -> Store {
    try state.withLock { state in
      let store = try open(.person(id), &state)
      if localData != .keepApart { try Self.join(try open(.local, &state), into: store) }
      guard localData == .move else {
        try change(&state) { $0.current = id }
        return store
      }
      // What was written while that went on. Nothing is meanwhile, and nothing after it.
      let local = try open(.local, &state)
      let rest = try Store(path: file(of: .local).path, schema: schema, options: options)
      do {
        try local.close(after: {
          try Self.join(rest, into: store)
          try change(&state) { ($0.current, $0.aside) = (id, "local-\(UUID().uuidString.lowercased()).sqlite") }
        })
      } catch {
        // Closed by its release, if not by this. That the sign-in has failed is the greater news.
        try? rest.close()
        throw error
      }
      state.open[.local] = nil
      do {
        try rest.close()
        try putLocalAside(&state)
      } catch {
        // It is done before a local store is opened again.
        options.logger.warning("the local store is not put aside yet", metadata: ["error": "\(error)"])
      }
      return store
    }
  }

  /// Switches to the device's own data and returns the local store. The person's data stays in its file until they sign
  /// in again.
  ///
  /// ```swift
  /// await engine.pause()
  /// let store = try await container.signOut()
  /// ```
  ///
  /// First pause the engine of the current store; afterwards give the returned store to views and engines. The person's
  /// store stays open, in case they come back.
  /// - Returns: the local store.
  /// - Throws: the errors of opening a store. The current account is then as before.
  public func signOut() throws -> Store {
    try state.withLock { state in
      let store = try open(.local, &state)
      try change(&state) { $0.current = nil }
      return store
    }
  }

  /// Switches to a person's data without blocking the task's thread. See the synchronous version.
  ///
  /// If the task is cancelled before the work has begun, it throws `CancellationError`, and nothing has changed.
  /// - Returns: the person's store.
  /// - Throws: the errors of the synchronous version. Then the current account is unchanged, and its store is open.
  public func signIn(_ id: String, localData: LocalData) async throws -> Store {
    try await BlockingWork.run { [self] in try signIn(id, localData: localData) }
  }

  /// Switches to the device's own data without blocking the task's thread. See the synchronous version.
  ///
  /// ```swift
  /// let store = try await container.signOut()
  /// ```
  ///
  /// If the task is cancelled before the work has begun, it throws `CancellationError`, and nothing has changed.
  /// - Returns: the local store.
  /// - Throws: the errors of opening a store. The current account is then as before.
  public func signOut() async throws -> Store { try await BlockingWork.run { [self] in try signOut() } }

  /// Deletes an account's file for good. Changes that have not been synced are lost, so ask the person first.
  ///
  /// ```swift
  /// try container.erase(.person("ann"))
  /// ```
  ///
  /// It closes the account's store; pause its engine first. Other devices and the account's service keep their data.
  /// Erasing an account without a file is not an error.
  /// - Precondition: it is not the current account.
  /// - Throws: the errors of closing the store and removing files. Then some of the files may remain, and the account
  ///   is still listed.
  public func erase(_ account: Account) throws {
    try state.withLock { state in
      let shown = state.contents.current.map(Account.person) ?? .local
      precondition(account != shown, "the current account cannot be erased")
      try state.open.removeValue(forKey: account)?.close()
      try remove(file(of: account))
      try change(&state) { contents in
        if case .person = account { contents.people[file(of: account).lastPathComponent] = nil }
      }
    }
  }

  // MARK: Files

  private func file(of account: Account) -> URL {
    switch account {
    case .local: return directory.appendingPathComponent("local.sqlite")
    case .person(let id):
      // An id may hold anything; a hash is a safe name on every file system.
      let name = Hexadecimal.text(SHA256.hash(Array(id.utf8)).prefix(16))
      return directory.appendingPathComponent("account-\(name).sqlite")
    }
  }

  private func open(_ account: Account, _ state: inout State) throws -> Store {
    if let store = state.open[account] { return store }
    if account == .local { try putLocalAside(&state) }
    let file = file(of: account)
    if case .person(let id) = account, state.contents.people[file.lastPathComponent] == nil {
      try change(&state) { $0.people[file.lastPathComponent] = id }
    }
    let store = try Store(path: file.path, schema: schema, options: options)
    state.open[account] = store
    return store
  }

  private func change(_ state: inout State, _ body: (inout Contents) -> Void) throws {
    var contents = state.contents
    body(&contents)
    try write(contents)
    state.contents = contents
  }

  /// Has a store take what another one has and it lacks.
  private static func join(_ local: Store, into store: Store) throws {
    let spool = DeltaSpool()
    defer { spool.discard() }
    try local.writeDelta(since: try store.vector, to: spool.append)
    try store.apply(from: try spool.reader())
    try local.assets.give(to: store.assets)
  }

  private static let suffixes = ["", "-wal", "-shm", "-incarnation", TransferShelf.suffix, FileRole.assets]

  /// Gives the local store that was moved into an account another name, so that the app begins empty after signing out.
  /// Where it was ended in the midst of that, it goes on.
  private func putLocalAside(_ state: inout State) throws {
    guard let name = state.contents.aside else { return }
    let (file, aside) = (file(of: .local), directory.appendingPathComponent(name))
    // The log first: without it the database would be older than what was joined, but never the other way round.
    for suffix in Self.suffixes.reversed() where FileManager.default.fileExists(atPath: file.path + suffix) {
      try FileManager.default.moveItem(atPath: file.path + suffix, toPath: aside.path + suffix)
    }
    try change(&state) { $0.aside = nil }
  }

  private func remove(_ file: URL) throws {
    for suffix in Self.suffixes where FileManager.default.fileExists(atPath: file.path + suffix) {
      try FileManager.default.removeItem(atPath: file.path + suffix)
    }
  }
}
