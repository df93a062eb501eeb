import Synchronization
import TallyAssets
import TallyCRDT
import TallySchema
import TallyStore

/// The folder's side of a session: takes files from the peer, one at a time, and gives it those that it asks for.
///
/// It is used on a queue of its own, so that a large file delays no record. What goes wrong is an answer, never an
/// error: records travel all the same.
package final class FileWork: @unchecked Sendable {
  private let store: Store
  private let folder: AssetFolder
  // Only used on the queue.
  private var download: (name: AssetName, file: AssetDownloading)?
  private var source: (number: UInt64, file: AssetSource)?
  /// The files that the peer has asked for in vain. A peer that asks for more of them is not told when they come.
  private var refused = Set<AssetName>()
  private static let refusedLimit = 10_000
  /// The files that the app waited for at the last listing.
  private var wishes = Set<AssetName>()
  /// The last listing, and what had removed content before it: a file that was wanted may be a purged record's since.
  private var (listed, removals) = (Set<AssetName>(), StateVector())
  /// The name under which the peer's wrong files are noted.
  private var peer = "peer-"
  private let isCancelled = Atomic(false)

  /// Nil if no record can name a file, or the store has no folder that could be written to.
  init?(_ store: Store) {
    guard store.file != nil, !store.options.isReadOnly, let folder = try? store.assets.folder,
      let schema = try? store.schema,
      schema.entities.contains(where: { $0.fields.contains { $0.kind == .asset } })
    else { return nil }
    (self.store, self.folder) = (store, folder)
  }

  /// Tells when the app waits for a file, and when a file has come.
  var wishing: AsyncStream<Void> { AssetNews.wishes.stream(of: folder.path) }
  var arrivals: AsyncStream<Void> { AssetNews.arrivals.stream(of: folder.path) }

  // MARK: Taking

  /// Lists what this device waits for: first what the app has asked for, then what the rows of eager fields name, small
  /// files first.
  package func list(from peer: ReplicaID?) -> SyncSession.Event {
    self.peer = "peer-\(peer.map { "\($0)" } ?? "")"
    var listing = FileListing()
    do {
      guard try folder.exists || store.assets.areNamed() else { return .filesListed(listing) }
      let places = try store.assets.places()
      let earlier = try places.wishes()
      let removals = try store.assets.removals()
      // Only a wish may be for a file that no row shows.
      let use = try earlier.isEmpty ? store.assets.shown() : store.assets.use()
      try places.noteNamed(use)
      let wants = try places.wants(use, wishedBefore: earlier, in: folder)
      let wrong = try places.wrong(at: self.peer, store.now)
      wishes = wants.wishes
      listing.names = wants.names.filter { !wrong.contains($0) }
      listing.refused = wants.names.count - listing.names.count
      listing.wishes = wishes
      listing.shown = use.shown.intersection(listing.names)
      listing.missing = use.shown.count { !folder.has($0) }
      (listed, self.removals) = (Set(listing.names), removals)
    } catch {
      listing = FileListing()
      listing.failure = (error as? any TallyError)?.message ?? "\(error)"
    }
    return .filesListed(listing)
  }

  /// Looks whether another process wants a file.
  package func lookForWishes() -> SyncSession.Event? {
    guard folder.exists, let now = try? store.assets.places().wishes() else { return nil }
    return now.isSubset(of: wishes) ? nil : .filesWanted
  }

  /// Goes on with what has come of a file.
  package func begin(_ name: AssetName) -> SyncSession.Event {
    drop()
    do {
      guard try !folder.has(name) && listed.contains(name) && store.assets.isNamed(name, since: removals) else {
        return .fileEnded(name, .here)
      }
      let file = try AssetDownloading(name, in: folder, check: checkCancellation)
      download = (name, file)
      return .fileBegun(name, byteCount: UInt64(file.byteCount))
    } catch { return failed(name, error) }
  }

  /// Puts a piece aside. Nil if the file was given up.
  package func keep(_ bytes: [UInt8]) -> SyncSession.Event? {
    guard let (name, file) = download else { return nil }
    do {
      try file.append(bytes[...])
      return .fileKept(byteCount: UInt64(file.byteCount))
    } catch { return failed(name, error) }
  }

  /// Gives the file its name.
  package func finish() -> SyncSession.Event? {
    guard let (name, file) = download else { return nil }
    do {
      let isNew = try file.finish()
      download = nil
      // Without the note it counts as added here, and is not evicted.
      if isNew { try? store.assets.places().noteArrival(name) }
      if try isNew && !store.assets.takeBack([name], since: removals).isEmpty { return .fileEnded(name, .here) }
      AssetNews.arrivals.tell(folder.path)
      return .fileEnded(name, .taken)
    } catch let error as AssetError where error.code == .wrongContent && file.isResumed {
      // What is wrong may have come from another place. Nothing of it is left.
      drop()
      return .fileEnded(name, .again)
    } catch let error as AssetError where error.code == .changed && !isNamed(name) {
      // A purge has removed what had come of it.
      drop()
      return .fileEnded(name, .here)
    } catch { return failed(name, error) }
  }

  private func isNamed(_ name: AssetName) -> Bool {
    // Where it cannot be told, the error that has led here is reported.
    (try? store.assets.isNamed(name, since: removals)) ?? true
  }

  /// Leaves what has come of a file.
  package func drop() { download = nil }

  /// Ends the job under way soon. Comes from any thread.
  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  private func checkCancellation() throws {
    if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
  }

  private func failed(_ name: AssetName, _ error: any Error) -> SyncSession.Event {
    drop()
    if (error as? AssetError)?.code == .busy { return .fileEnded(name, .busy) }
    if (error as? AssetError)?.code == .wrongContent {
      // Without the note it is asked for again in the next session, and refused again.
      try? store.assets.places().note(wrong: name, at: peer, store.now)
    }
    return .fileEnded(name, .failed(AssetTransfers.Issue(name, error)))
  }

  // MARK: Giving

  /// Opens a file for the peer.
  package func open(_ number: UInt64, _ name: AssetName) -> SyncSession.Event {
    close()
    guard folder.has(name), let file = try? AssetSource(folder.path(of: name), followsLinks: false) else {
      if refused.count < Self.refusedLimit { refused.insert(name) }
      return .fileOpened(number, isHere: false)
    }
    source = (number, file)
    return .fileOpened(number, isHere: true)
  }

  /// Reads a piece of it.
  package func read(_ number: UInt64, _ offset: UInt64, _ count: Int) -> SyncSession.Event {
    guard let source, source.number == number,
      let bytes = try? source.file.bytes(from: Int(offset), count: count), bytes.count == count
    else { return .fileRead(number, nil) }
    return .fileRead(number, bytes)
  }

  /// Closes that file.
  package func close() { source = nil }

  /// Looks whether a file has come that the peer has asked for in vain.
  package func lookForRefused() -> SyncSession.Event? {
    let come = refused.filter {
      folder.has($0) && (try? AssetSource(folder.path(of: $0), followsLinks: false)) != nil
    }
    refused.subtract(come)
    return come.isEmpty ? nil : .filesArrived
  }

  /// Closes everything. What has come of a file stays for another session.
  package func end() {
    drop()
    close()
  }
}
