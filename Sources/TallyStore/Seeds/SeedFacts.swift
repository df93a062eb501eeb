import TallyCRDT
import TallyWire

#if PlantedFaults
  import TallyFaults
#endif

/// The effects of seeds on the engine: which version an edit had in front of it, which links a version shows, and the
/// table that the app reads.
extension RecordState {
  /// Returns the basis that an edit with this stamp notes about the seed; nil if the user sees nothing of a seed, or
  /// an earlier edit has noted it, or a number stands in for what such edits have added: that counts until a peer has
  /// told of them.
  func basis(for stamp: Stamp, _ kind: RecordKind) -> SeedState? {
    guard let seed, seed.basis == nil, standIns.isEmpty, let seen = shownSeed(followsNewest: kind.followsNewest) else {
      return nil
    }
    return SeedState(layers: [], basis: SeedBasis(stamp: stamp, layer: seen.stamp))
  }
}

extension StateReader {
  /// Whether a link's element is a member of its relationship, the visibility of both ends aside.
  func isMember(_ key: LinkKey, _ element: ORSetElement) throws -> Bool {
    try element.isMember {
      guard let kind = catalog.kind(of: key.source.type), let source = try record(key.source, kind) else { return nil }
      return source.state.shownSeed(followsNewest: kind.followsNewest)?.stamp.dot
    }
  }
}

extension StateReader {
  /// The record that stands for one that gave way, which may have given way in its turn: the last of them. Nil while
  /// the record speaks for itself.
  package func successor(of name: AnyRecordName) throws -> AnyRecordName? {
    guard var last = try forward(of: name) else { return nil }
    #if PlantedFaults
      if planted.contains(.forwardedOnce) { return last }
    #endif
    var known = Set([name])
    while known.insert(last).inserted, let next = try forward(of: last) { last = next }
    return last
  }

  /// The seed, or the record with the same unique value, for which a record gave way; nil while the record speaks for
  /// itself.
  package func forward(of name: AnyRecordName) throws -> AnyRecordName? {
    guard let kind = catalog.kind(of: name.type), kind.forwardField != nil,
      let stored = try record(name, kind)
    else { return nil }
    return try forward(of: name, stored.state)
  }

  /// The record for which one in this state gave way: it was adopted or merged, and was not edited concurrently or
  /// since.
  package func forward(of name: AnyRecordName, _ state: RecordState) throws -> AnyRecordName? {
    guard let kind = catalog.kind(of: name.type), let field = kind.forwardField,
      case .text(let text) = state[field]?.value, let target = try? AnyRecordName(text), target.type == name.type,
      target != name
    else { return nil }
    // A person who deletes an edited duplicate deletes that, and what refers to it refers to nothing.
    let seen = state.adoptedContext
    guard state.touches.beyond(seen).isEmpty else { return nil }
    return try links(from: name).allSatisfy { $0.link.element.liveDots.allSatisfy(seen.covers) } ? target : nil
  }
}

extension StateWriter {
  /// Keeps `tally_seeded` equal to what the state says.
  func putSeeded(
    _ name: AnyRecordName, _ kind: RecordKind, _ state: RecordState, isShown: Bool, _ previous: StoredRecord?
  ) throws {
    guard kind.isKnown, state.seed != nil || previous?.state.seed != nil else { return }
    touch(SeededRecord.databaseTableName)
    guard isShown, let row = SeededRecord(name, state, kind) else {
      return try connection.run("DELETE FROM tally_seeded WHERE name = ?", name.text)
    }
    try connection.run(
      """
      INSERT INTO tally_seeded VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE SET version = ?2, belongsToUser = ?3
      WHERE version <> ?2 OR belongsToUser <> ?3
      """, name.text, row.version, row.belongsToUser ? 1 : 0)
  }
}
