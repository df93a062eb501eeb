import Tally

/// The people of the story.
enum Owner: String, CaseIterable {
  case ann = "Ann's Mac"
  case ben = "Ben's phone"
  case cleo = "Cleo's tablet"
  case dan = "Dan's old phone"
}

/// Somebody's device with one release of the app.
final class Device {
  let owner: Owner
  let store: Store
  private(set) var release: Int

  /// Installs a release of the app and launches it. There is no network, and none is needed.
  init(_ owner: Owner, release: Int) throws {
    self.owner = owner
    self.release = release
    // An app gives it a path instead.
    store = try Store(inMemory: Schema(SpeechType.self))
    try launch()
  }

  /// Installs another release and launches it.
  /// - Returns: whether that wrote anything.
  @discardableResult
  func update(to release: Int) throws -> Bool {
    self.release = release
    return try launch()
  }

  /// Performs the steps that an app takes at every launch.
  @discardableResult
  private func launch() throws -> Bool {
    try store.seed(release == 1 ? DefaultSpeechTypes.version1 : DefaultSpeechTypes.version2).isNew
  }

  /// Changes one of the speech types that the app ships.
  func edit(_ key: String, _ change: (inout SpeechType) -> Void) throws {
    try store.write { db in
      var type = try SpeechType.find(db, key: DefaultSpeechTypes.id(key))
      change(&type)
      // `update` writes all columns; only those whose value changed count as an edit.
      try type.update(db)
    }
  }

  /// Deletes one of the speech types that the app ships.
  func delete(_ key: String) throws {
    try store.write { db in _ = try SpeechType.deleteOne(db, key: DefaultSpeechTypes.id(key)) }
  }

  /// Returns the rows that the owner sees.
  func rows() throws -> [SpeechTypeRow] { try store.read(SpeechTypeRow.all) }
}

/// The devices of the story, in the order in which they appear.
final class Group {
  struct NotThere: Error { let owner: Owner }

  private(set) var devices: [Device] = []

  func install(_ owner: Owner, release: Int) throws { devices.append(try Device(owner, release: release)) }

  func device(_ owner: Owner) throws -> Device {
    guard let device = devices.first(where: { $0.owner == owner }) else { throw NotThere(owner: owner) }
    return device
  }
}
