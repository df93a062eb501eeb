import TallyCRDT
import TallyStore

/// Whether the app sees a record, and if not, why: the first reason that holds.
package struct RecordPresence: Sendable, Equatable {
  /// The reasons.
  package enum Code: String, Sendable, Codable, CaseIterable {
    /// The app sees it.
    case visible
    /// Neither this schema nor anything that was received names the type.
    case unknownType
    /// Nothing of the record has arrived here.
    case notReceived
    /// It is here, and the schema of this device does not have its type: a newer version of the app wrote it.
    case newerSchema
    /// It was deleted, and no edit that the deletes had not seen keeps it.
    case deleted
    /// The newest version of default data no longer has it.
    case retired
    /// It was a duplicate, of default data or of a record with the same unique value, and gave way to that.
    case gaveWay
    /// It is alive, and a record that owns it is not visible.
    case hiddenByOwner
    /// Its content was removed for good together with that of an owner. It does not show even if the app uses the
    /// owner's name again.
    case emptied
    /// This device's database does not take its row, or does not let it go.
    case setAside
    /// Another program wrote something into its row that cannot be replicated: others see what it was before.
    case refused
    /// The store cannot be read. Said by who asks several stores; a store that answers never says it.
    case unreadable
  }

  /// The reason.
  package var code: Code
  /// Whether the app sees it.
  package var isVisible: Bool
  /// For `hiddenByOwner` and `emptied`: the owners from the nearest to the one that is the reason for all of them, or
  /// the first hundred of very many.
  package var owners: [AnyRecordName] = []
  /// For `hiddenByOwner`: why the last of `owners` is not visible; `hiddenByOwner` if there are more than were looked
  /// at.
  package var ownerCode: Code?
  /// The deletes that took the record, or the last of `owners`, away.
  package var deletes: [Stamp] = []
  /// The write that removed the content for good: of the record, or, for `hiddenByOwner`, of the last of `owners`. Nil
  /// if it can be restored.
  package var emptying: Stamp?
  /// The record for which it gave way.
  package var gaveWayTo: AnyRecordName?
  /// The message of SQLite or of a trigger about a row that is set aside.
  package var refusal: String?

  init(_ code: Code, isVisible: Bool = false) { (self.code, self.isVisible) = (code, isVisible) }
}

extension Store {
  /// Tells whether the app sees a record, and why not. Cost: a few look-ups, and those of the record's owners.
  package func presence(of name: AnyRecordName) throws -> RecordPresence {
    try capturedSnapshot { try $0.presence(of: name) }
  }
}

extension StateReader {
  func presence(of name: AnyRecordName) throws -> RecordPresence {
    guard let kind = catalog.kind(of: name.type) else { return RecordPresence(.unknownType) }
    guard let stored = try record(name, kind) else { return RecordPresence(.notReceived) }
    let isVisible = stored.isVisible
    guard kind.isKnown else { return RecordPresence(.newerSchema) }
    if let entry = aside[RowAddress(kind: kind.number, key: name.text)] {
      var presence = RecordPresence(.setAside, isVisible: isVisible)
      presence.refusal = entry.reason
      return presence
    }
    guard !isVisible else {
      return RecordPresence(try isRefused(name, kind) ? .refused : .visible, isVisible: true)
    }
    return try absence(of: name, kind, stored)
  }

  /// Whether something in the record's row has to be put right by a person.
  private func isRefused(_ name: AnyRecordName, _ kind: RecordKind) throws -> Bool {
    guard try connection.exists("SELECT 1 FROM tally_pending LIMIT 1") else { return false }
    let query = try connection.statement("SELECT 1 FROM tally_pending WHERE op = 4 AND kind = ? AND key = ? LIMIT 1")
    defer { query.reset() }
    query.bind(1, kind.number)
    query.bind(2, name.text)
    return try query.step()
  }

  private func absence(of name: AnyRecordName, _ kind: RecordKind, _ stored: StoredRecord) throws -> RecordPresence {
    if let target = try successor(of: name) {
      var presence = RecordPresence(.gaveWay)
      presence.gaveWayTo = target
      return presence
    }
    let visibility = Visibility(SnapshotFacts(self))
    guard try visibility.isAlive(name) else {
      let isRetired = stored.state.deletes.isEmpty && stored.state.seed != nil
      var presence = RecordPresence(isRetired ? .retired : .deleted)
      presence.deletes = stored.state.deletes.map(\.stamp)
      if try visibility.isHollow(name) { presence.emptying = stored.state.life?.stamp }
      return presence
    }
    let hidden = try presence(behindOwnersOf: name, visibility)
    guard try visibility.isHollow(name) else { return hidden }
    var presence = RecordPresence(.emptied)
    presence.owners = hidden.owners
    presence.emptying = stored.state.life?.stamp
    return presence
  }

  /// The most owners of a record that are looked at.
  private static let ownerLimit = 100

  /// The chain of owners up to the first that is not there for a reason of its own.
  private func presence(
    behindOwnersOf name: AnyRecordName, _ visibility: Visibility<SnapshotFacts>
  ) throws -> RecordPresence {
    var presence = RecordPresence(.hiddenByOwner)
    var next = name
    while let owner = try visibility.effectiveOwners(of: next).first(where: { try !visibility.isShown($0.target) }) {
      presence.owners.append(owner.target)
      let own = try self.presence(ofOwner: owner.target)
      guard own.code == .hiddenByOwner else {
        (presence.ownerCode, presence.deletes, presence.refusal) = (own.code, own.deletes, own.refusal)
        presence.emptying = own.emptying
        return presence
      }
      guard presence.owners.count < Self.ownerLimit else {
        presence.ownerCode = .hiddenByOwner
        return presence
      }
      next = owner.target
    }
    return presence
  }

  /// The reason of an owner, without looking further up.
  private func presence(ofOwner name: AnyRecordName) throws -> RecordPresence {
    guard let kind = catalog.kind(of: name.type), kind.isKnown, let stored = try record(name, kind),
      aside[RowAddress(kind: kind.number, key: name.text)] == nil, try forward(of: name, stored.state) == nil,
      try Visibility(SnapshotFacts(self)).isAlive(name)
    else { return try presence(of: name) }
    return RecordPresence(.hiddenByOwner)
  }
}
