import Foundation
import Synchronization
import TallySync

/// The end of the tool by SIGINT or SIGTERM: within a second, with nothing half done left behind and no child left
/// running.
enum Ending {
  private struct State {
    var next = 0
    /// Files that must not stay.
    var files: [Int: String] = [:]
    /// Temporary folders that must not stay, with the files in them.
    var folders: [Int: String] = [:]
    /// Asks what waits for a peer to end in order.
    var cancel: (@Sendable () -> Void)?
    /// The time that the ending may take.
    var seconds = Ending.patience
    var signal: Int32?
  }
  private static let state = Mutex(State())
  /// The time that something may take to end in order when it was asked to.
  static let patience = 0.8

  /// The signal that has asked the tool to end.
  static var signal: Int32? { state.withLock { $0.signal } }

  /// Takes over both signals. One that the parent has the tool ignore stays ignored.
  ///
  /// They are blocked in this thread, and so in all that come from it; a signal that arrives at any moment from now on
  /// waits for the one thread that takes it. To be called before there is another thread.
  static func install() {
    var taken = sigset_t()
    sigemptyset(&taken)
    for number in [SIGINT, SIGTERM] where !isIgnored(number) { sigaddset(&taken, number) }
    pthread_sigmask(SIG_BLOCK, &taken, nil)
    let set = taken
    Thread.detachNewThread {
      var (set, number) = (set, Int32(0))
      while sigwait(&set, &number) == 0 { noticed(number) }
    }
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var before = sigaction()
    guard sigaction(number, nil, &before) == 0 else { return false }
    #if canImport(Darwin)
      return unsafeBitCast(before.__sigaction_u.__sa_handler, to: Int.self) == 1
    #else
      return unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self) == 1
    #endif
  }

  private static func noticed(_ number: Int32) {
    let (cancel, seconds) = state.withLock { state -> ((@Sendable () -> Void)?, Double) in
      defer { state.signal = state.signal ?? number }
      return (state.signal == nil ? state.cancel : nil, state.seconds)
    }
    guard let cancel else { now(number) }
    cancel()
    DispatchQueue.global(qos: .userInteractive).asyncAfter(deadline: .now() + seconds) { now(number) }
  }

  /// Ends the tool.
  static func now(_ number: Int32) -> Never {
    Terminal.leave()
    let (files, folders) = state.withLock { ($0.files.values, $0.folders.values) }
    for file in files { unlink(file) }
    for folder in folders { remove(folder: folder) }
    ChildProcesses.terminateAll()
    _exit(128 + number)
  }

  /// Notes a file that must not stay if the tool is ended; and what to say when it is done with.
  static func note(file: String) -> Int {
    state.withLock { state in
      state.next += 1
      state.files[state.next] = file
      return state.next
    }
  }

  /// The same for a folder of the tool's own with plain files in it.
  static func note(folder: String) -> Int {
    state.withLock { state in
      state.next += 1
      state.folders[state.next] = folder
      return state.next
    }
  }

  static func forget(_ number: Int) {
    state.withLock { ($0.files[number], $0.folders[number]) = (nil, nil) }
  }

  /// Removes a folder with the files in it. A process that still writes there may make another in between, so it is
  /// tried a few times.
  static func remove(folder: String) {
    for _ in 0..<10 {
      for name in names(in: folder) { unlink(folder + "/" + name) }
      if rmdir(folder) == 0 || errno == ENOENT { return }
    }
  }

  /// Returns the names in a folder; none if it cannot be listed, since then there is nothing that could be removed.
  private static func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  }

  /// Runs something that can be cancelled, and that may take so many seconds to end when it was asked to.
  static func whileCancellable<T>(
    within seconds: Double = patience, _ cancel: @escaping @Sendable () -> Void, _ body: () throws -> T
  ) rethrows -> T {
    state.withLock { ($0.cancel, $0.seconds) = (cancel, seconds) }
    defer { state.withLock { $0.cancel = nil } }
    return try body()
  }
}
