import TallyCRDT

/// The facts that hold for the file as a whole. They spare most look-ups: where nothing was ever deleted, nothing can
/// be hidden.
final class FileFacts {
  /// Whether any record has a delete or a retired seed, so that what is below it matters.
  var hasDeletes = false
  var hasWaits = false
  /// Whether any record may be in a later life than its first.
  var hasLives = false
  /// Whether the conflict journal may have entries.
  var hasConflicts = false
  /// A vector that covers the edits of all stubs that are not listed; nil if it is not known. See `StubWaits.swift`.
  var stubTouches: StateVector? = StateVector()
  var areStubTouchesChanged = false
  /// Whether rows are set aside, and whether any was refused.
  private(set) var hasAside = false
  private(set) var hasRefusals = false
  /// The kinds of which something is hidden: of others nothing needs to be looked up.
  var hiddenKinds = Set<KindNumber>()

  /// Whether what is stored is in doubt: see `StoreDoubt`.
  var hasDoubt = false

  /// Reads the facts of the file that `connection` sees.
  func load(_ connection: Connection, _ catalog: Catalog) throws {
    // One statement: to prepare one for each table costs more than all else. Files of earlier versions have an index
    // of the journal that nothing needs: a store whose disk has damaged it can be opened.
    let query = try connection.statement(
      """
      SELECT EXISTS(SELECT 1 FROM tally_context), EXISTS(SELECT 1 FROM tally_wait),
        EXISTS(SELECT 1 FROM tally_conflict NOT INDEXED), EXISTS(SELECT 1 FROM tally_hidden), EXISTS(SELECT 1 FROM tally_cut),
        EXISTS(SELECT 1 FROM tally_aside), EXISTS(SELECT 1 FROM tally_pending WHERE op = 4)
      """)
    guard try query.step() else { throw StoreError(.corrupt, "SQLite does not answer") }
    let has = (0..<7).map { query.int($0) == 1 }
    query.reset()
    hasDeletes = try has[0] || connection.hasMeta("retired")
    (hasWaits, hasConflicts, hasAside, hasRefusals) = (has[1], has[2], has[5], has[6])
    if catalog.schema.hasUniqueRules, try connection.exists("SELECT 1 FROM tally_unique LIMIT 1") { hasAside = true }
    hasLives = try connection.hasMeta("lives")
    hasDoubt = try connection.hasMeta("doubt")
    // As in `StateWriter.overwriteDeleted`.
    if hasLives { try connection.execute("PRAGMA secure_delete = ON") }
    hiddenKinds = []
    if has[3] {
      let hidden = try connection.statement("SELECT 1 FROM tally_hidden WHERE kind = ? LIMIT 1")
      for kind in catalog.records.keys where try hidden.finds(kind) { hiddenKinds.insert(kind) }
    }
    if has[4] {
      let cut = try connection.statement("SELECT 1 FROM tally_cut WHERE kind = ? LIMIT 1")
      for kind in catalog.links.keys where try cut.finds(kind) { hiddenKinds.insert(kind) }
    }
    areStubTouchesChanged = false
    stubTouches = try catalog.hasStubs ? StubWaits.touches(connection, catalog) : StateVector()
    guard catalog.hasStubs else { return }
    let stubs = try connection.statement(
      "SELECT n FROM tally_kind WHERE EXISTS(SELECT 1 FROM tally_stub WHERE kind = tally_kind.n)")
    while try stubs.step() { hiddenKinds.insert(stubs.number(0)) }
  }
}

extension SQLStatement {
  /// Whether a query for one kind has a row.
  fileprivate func finds(_ kind: KindNumber) throws -> Bool {
    bind(1, kind)
    defer { reset() }
    return try step()
  }
}
