import TallyCRDT
import TallyStore

/// The fate of a device: what happens to it.
extension SimulatedReplica {
  /// Loses the device forever, with all data that only it had.
  public func lose() {
    world.note("replica \(index) is lost")
    world.disconnect(index)
    isLost = true
  }

  /// Ends the app and starts it again with this version of its schema.
  public func upgrade(to schema: Schema) throws {
    guard schema != self.schema else { return }
    world.note("replica \(index) gets another version of the app")
    self.schema = schema
    try restart()
  }

  /// Ends the app abruptly and starts it again. Everything that it wrote remains.
  public func restart() throws {
    world.disconnect(index)
    if storage.disk == nil { hasWholeJournal = false }
    store = try storage.reopen(store, schema, options)
    try noteCommit()
  }

  /// Lets the power fail. The seed decides whether data that was not on the disk is lost; anything that another replica
  /// has seen must remain.
  ///
  /// Without a disk (neither `Faults.power` nor the script requested one) it is a restart.
  public func powerCut() throws {
    guard let disk = storage.disk else { return try restart() }
    world.note("replica \(index) loses power")
    world.disconnect(index)
    disk.powerCut(using: &world.random)
    store = try disk.store(schema: schema, options: options)
    hasWholeJournal = false
    try findPlace()
  }

  /// Finds where the store stands after a power cut: at the end of some commit, and no earlier than what others have
  /// seen of it.
  private func findPlace() throws {
    let vector = try store.vector
    notePlaceWithinPass(vector)
    guard let place = commits.lastIndex(where: { $0.vector == vector }) else {
      throw Finding("replica \(index) stands where it never stood after a commit")
    }
    let lost = seen.subtracting(commits[place].seen)
    seen = commits[place].seen
    commits.removeSubrange((place + 1)...)
    world.note("  and has lost \(lost.count) transactions")
    for event in lost.subtracting(former) where world.authors[event] == index && world.isKnown(event, besides: index) {
      throw Finding("replica \(index) has lost the transaction \(world.oracle.dots[event]), which others have seen")
    }
  }

  /// Adds where a store stands that has committed some of the files of a pass.
  private func notePlaceWithinPass(_ vector: StateVector) {
    guard !commits.contains(where: { $0.vector == vector }) else { return }
    for place in commits.indices.dropFirst() where commits[place].isLastOfPass {
      let (before, after) = (commits[place - 1], commits[place])
      guard vector.covers(before.vector), after.vector.covers(vector) else { continue }
      var seen = before.seen
      for event in after.seen where vector.covers(world.oracle.dots[event]) { seen.insert(event) }
      return commits.insert((vector, seen, false), at: place)
    }
  }

  /// Makes a copy of the store's file, for `restoreBackup()`.
  public func backUp() throws {
    guard let disk = storage.disk else { return }
    world.note("replica \(index) is backed up")
    try flush()
    storage.backup = (disk.image.copied(), seen, schema)
  }

  /// Restores the copy that `backUp` made. The device has forgotten everything since and must not continue under its
  /// old id.
  public func restoreBackup() throws {
    guard let disk = storage.disk, let backup = storage.backup else { return }
    world.note("replica \(index) is restored from its backup")
    world.disconnect(index)
    disk.restore(backup.image)
    try begin(on: disk, backup.seen)
  }

  /// Replaces the device with a new one, which begins with a copy of another device's file.
  public func become(copyOf other: SimulatedReplica) throws {
    guard let disk = storage.disk, let source = other.storage.disk, other !== self else { return }
    world.note("replica \(index) begins again as a copy of \(other.index)")
    try other.flush()
    world.disconnect(index)
    disk.restore(source.image.copied())
    days.merge(other.days) { $0.union($1) }
    try begin(on: disk, other.seen)
  }

  /// Flushes the store, as copying its file does: a copy cannot have what is in no file that survives.
  private func flush() throws { try store.writeDelta(since: try store.vector) { _ in } }

  private func begin(on disk: SimulatedDisk, _ seen: EventSet) throws {
    store = try disk.store(schema: schema, options: options)
    hasWholeJournal = false
    self.seen = seen
    for (event, author) in world.authors where author == index { former.insert(event) }
    commits = []
    try noteCommit()
  }
}
