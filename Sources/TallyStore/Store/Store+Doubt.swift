import GRDB
import TallyCRDT

extension Store {
  /// Returns whether and why the content of the store is in doubt; nil if there is no known reason for doubt.
  ///
  /// ```swift
  /// if let doubt = try store.doubt() { print(doubt.level, doubt.reason) }
  /// ```
  ///
  /// Every operation that reads everything detects damage: a delta for a new device, a repair, ``verify(onProgress:)``.
  /// A damaged store sends nothing to others, and is healed by the next sync with an intact device.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func doubt() throws -> StoreDoubt? { try snapshot { try $0.doubt() } }

  /// Reads everything and looks whether it fits the sum that is kept of it. If not, the damage is noted.
  package func fitsItsSum() throws -> Bool {
    guard try capturedSnapshot({ try $0.fitsItsSum() }) else {
      noteDamage(StoreError.unfit)
      return false
    }
    return true
  }

  /// Whether the store knows that it is damaged, and so gives nothing away. A note of damage that is made good by now
  /// is taken back: what fits its sum is sound. Checksums of states and indexes are put right.
  package func checkDamage() throws -> Bool {
    guard let doubt = try doubt(), doubt.level == .damaged else { return false }
    guard doubt.mayPass else { return true }
    let soundness = try capturedSnapshot { try $0.soundness() }
    guard soundness != .unsound else { return true }
    guard !options.isReadOnly else { return soundness == .derivedOnly }
    return try replicate { transaction in
      if soundness == .derivedOnly, try !transaction.putDerivedRight() { return true }
      try transaction.note(doubt: nil, because: "")
      return false
    }.value
  }

  /// Notes that what is stored is damaged, where that can be written.
  func noteDamage(_ reason: String) {
    guard !options.isReadOnly else { return }
    do {
      try replicate { transaction in
        // What is known already may name the record.
        guard try transaction.reader.doubt()?.level != .damaged else { return }
        try transaction.note(doubt: .damaged, because: reason)
      }
    } catch {
      // The error that the caller throws is the one that matters; the damage will be found again.
      options.environment.logger.error("damage could not be noted", metadata: ["error": "\(error)"])
    }
  }

  /// Returns the error of a store that sends nothing because it is damaged.
  func damaged(_ reason: String) -> StoreError {
    StoreError(
      .damaged,
      "\(file.map { "\($0): " } ?? "")\(reason); sync it with an intact device, or rebuild it to take it as it is")
  }

  /// Runs something that reads what is stored; damage that it meets is noted.
  func noticingDamage<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as StoreError where [.damaged, .corrupt].contains(error.code) && !error.isNoted {
      noteDamage(error.message)
      throw damaged(error.message)
    }
  }

  /// What is wrong with the app's tables, where that explains an error of SQLite's while the store is read: another
  /// program has dropped, renamed or rebuilt one. Otherwise the error itself.
  package func reason(for error: any Error) -> any Error {
    do {
      return try read { db in
        try TableShape.explaining(Connection(try db.handle())) { throw error }
      }
    } catch {
      return error
    }
  }

  /// Rebuilds everything that is derived from the states: indexes, change log, waits, fingerprint, view. Returns a
  /// report. Use it for a store in which `verify` finds problems; in a sound one it changes nothing and only takes
  /// time.
  ///
  /// The content is accepted as it is. A row whose state cannot be read keeps the values that it shows, as a new write
  /// of this replica. A state that cannot be read and has no row is removed, and comes back from a peer through a
  /// repair. Both are in the report. The vector, from which peers infer what this store has, is not changed.
  ///
  /// If the content did not match its checksum, the store stays in doubt: the next device with which it syncs, and
  /// which is not in doubt itself, decides what both have.
  ///
  /// Cost: reads everything and rewrites the log; one transaction.
  /// - Throws: GRDB's `DatabaseError`; then the store is unchanged.
  public func rebuild() throws -> RebuildReport {
    try replicate { transaction in
      let rebuild = Rebuild(transaction, unreadable: .writtenAnew)
      try ImportStanding.forgetIfDamaged(transaction.connection)
      let report = try rebuild.run()
      let before = try transaction.reader.doubt()
      if report.hadOtherFingerprint || !report.losses.isEmpty || before?.level == .damaged {
        transaction.losses.mayHoldTotals = true
        try transaction.note(doubt: .unvouched, because: before?.reason ?? "the store was rebuilt after damage")
      }
      return report
    }.value
  }
}
