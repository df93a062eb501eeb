import ArgumentParser
import Tally
import TallyStore
import TallySync

/// The other side of a sync.
enum SyncPlace {
  /// Another store's file.
  case file(String)
  /// `folder:PATH`.
  case folder(String)
  /// A relay's space, by its address.
  case relay(String, tokenFile: String?)
  /// `tcp://HOST:PORT`, or a command.
  case peer(String, SecurityOptions)

  /// What `--via` names.
  init(via place: String, _ tokenFile: String?, _ security: SecurityOptions) {
    self =
      if place.hasPrefix("folder:") {
        .folder(place)
      } else if SyncThroughRelay.isRelay(place) {
        .relay(place, tokenFile: tokenFile)
      } else {
        .peer(place, security)
      }
  }

  /// Whether the options of a command line go together.
  func validate(tokenFile: String?, _ security: SecurityOptions, isWatching: Bool = false) throws {
    let (isRelay, isPeer) =
      switch self {
      case .file, .folder: (false, false)
      case .relay: (true, true)
      case .peer: (false, true)
      }
    guard isRelay == (tokenFile != nil) else {
      throw ValidationError("a relay's https:// address and --token-file go together")
    }
    guard isPeer || !isWatching && !security.isGiven else {
      throw ValidationError("--watch, --secret-file and certificates go with a peer that --via names")
    }
    guard security.isGiven else { return }
    if case .peer(let name, _) = self, name.hasPrefix("tcp://") { return }
    throw ValidationError("a secret or certificates go with tcp://; what a command says is its own matter")
  }

  /// Brings a store and this place to the same state, and prints what each took; the store by its name, or by another.
  /// - Returns: what it has left.
  func sync(
    _ store: String, named name: String? = nil, isWatching: Bool = false, _ waiting: WaitingOptions,
    _ progress: ProgressOptions
  ) throws -> SyncRest {
    let name = name ?? store
    switch self {
    case .file(let other):
      try Self.sync(store, named: name, with: other, waiting, progress)
      return SyncRest()
    case .folder(let place): return SyncRest(try SyncThroughFolder(place).run(store, waiting, progress))
    case .relay(let place, let tokenFile):
      let sync = try SyncThroughRelay(place, tokenFile: tokenFile, isWatching: isWatching)
      return SyncRest(try sync.run(store, waiting, progress))
    case .peer(let peer, let security):
      let sync = SyncWithPeer(
        store: store, name: name, peer: peer, isWatching: isWatching, security: security, timeout: waiting.timeout,
        progress: progress)
      return SyncRest(assets: try sync.run())
    }
  }

  private static func sync(
    _ path: String, named first: String, with second: String, _ waiting: WaitingOptions, _ progress: ProgressOptions
  ) throws {
    try OpenStore.writing(path, waiting.timeout) { one in
      try OpenStore.writing(second, waiting.timeout) { two in
        let bar = Progress("syncing", progress)
        defer { bar.end() }
        let report = try one.sync(with: two) { fraction in
          bar.show(fraction, fraction == nil ? "reading what each lacks" : "of the changes applied")
        }
        bar.end()
        try Output.run { output in
          try output.line(printable("\(first) took \(text(report.first))"))
          try output.line(printable("\(second) took \(text(report.second))"))
          if report.repaired { try output.line("contents differed although the vectors were equal; both were joined") }
          for (name, result) in [(first, report.first), (second, report.second)] {
            for line in SyncLines.healing(result.isHealed, result.inDoubt, name) { try output.line(printable(line)) }
          }
          if report.isConverged { return try output.line("converged, \(report.byteCount) bytes exchanged") }
          guard report.newerChanges > 0 else { return }
          try output.line("synced, \(report.byteCount) bytes exchanged; \(SyncLines.newer(report.newerChanges))")
        }
        guard report.isConverged || report.newerChanges > 0 else {
          throw Failure(.badData, "the two stores still differ")
        }
      }
    }
  }

  private static func text(_ result: ApplyResult) -> String {
    "\(count(result.changes, "change")), \(count(result.conflicts, "conflict"))"
  }
}

/// The reports of a sync, which say what is left for the next one.
struct SyncRest {
  /// The report of a pass through a folder or a relay; nil for any other sync, which leaves no records.
  var mailbox: MailboxReport?
  /// The files of assets that have travelled; nil if none can.
  var assets: AssetTransfers?

  init(_ mailbox: MailboxReport? = nil, assets: AssetTransfers? = nil) {
    (self.mailbox, self.assets) = (mailbox, mailbox?.assets ?? assets)
  }

  /// - Throws: `Failure` if something cannot be taken in, or if a file of an asset could not travel.
  func check() throws {
    if let mailbox { try MailboxLines.checkRefused(mailbox) }
    try AssetLines.check(assets)
  }
}
