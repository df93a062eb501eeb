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
  /// The kinds of which something is hidden: of others nothing needs to be looked up.
  var hiddenKinds = Set<KindNumber>()

  /// Reads the facts of the file that `connection` sees.
  func load(_ connection: Connection, _ catalog: Catalog) throws {
    hasDeletes =
      try connection.exists("SELECT 1 FROM tally_context LIMIT 1")
      || connection.hasMeta("retired")
    hasLives = try connection.hasMeta("lives")
    // As in `StateWriter.overwriteDeleted`.
    if hasLives { try connection.execute("PRAGMA secure_delete = ON") }
    hasWaits = try connection.exists("SELECT 1 FROM tally_wait LIMIT 1")
    hasConflicts = try connection.exists("SELECT 1 FROM tally_conflict LIMIT 1")
    hiddenKinds = []
    let hidden = try connection.statement("SELECT 1 FROM tally_hidden WHERE kind = ? LIMIT 1")
    for kind in catalog.records.keys where try hidden.finds(kind) { hiddenKinds.insert(kind) }
    let cut = try connection.statement("SELECT 1 FROM tally_cut WHERE kind = ? LIMIT 1")
    for kind in catalog.links.keys where try cut.finds(kind) { hiddenKinds.insert(kind) }
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
