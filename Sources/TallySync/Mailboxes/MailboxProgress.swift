import Synchronization

/// The progress of a pass.
public struct MailboxProgress: Sendable, Equatable {
  /// The phases of a pass, in order. If a store meanwhile finds that it is damaged, the pass begins again.
  public enum Phase: String, Sendable {
    /// The pass lists the mailbox and reads the beginnings of files.
    case looking
    /// The pass reads files and applies them.
    case taking
    /// The pass writes what the mailbox lacks.
    case putting
  }

  /// The part of the pass that is under way.
  public var phase = Phase.looking
  /// The number of files that the pass has examined or taken in, and their total number; 0 of 0 while it lists.
  public var file = 0, fileCount = 0
  /// The numbers of bytes that were read from the mailbox, and handed to it, so far.
  public var bytesRead = 0, bytesWritten = 0
  /// The number of records and links of this store that the files applied so far have changed.
  public var changes = 0
  /// The progress of the file under way, with its bytes and its estimated time; nil while the pass lists the mailbox,
  /// and between files.
  public var transfer: TransferProgress?
  /// Twice the bytes of the files that are to be taken in, and how many of them are read and applied.
  var workCount = 0, workDone = 0
  /// The completed fraction of the phase, 0 to 1. It counts the files to examine; then the bytes to take in, where
  /// reading a byte counts as much as applying it, or the files if the mailbox does not list their sizes; then the
  /// bytes to put. Nil while the pass lists, and while it reads from the store what it will put.
  public var fraction: Double? {
    if phase == .putting { return transfer?.fraction }
    if phase == .taking, workCount > 0 { return min(1, Double(workDone) / Double(workCount)) }
    return fileCount == 0 ? nil : Double(file) / Double(fileCount)
  }

  /// Creates the progress of a pass that is about to begin.
  public init() {}
}

/// Tells how far a pass is.
final class ProgressTeller: Sendable {
  private struct State {
    var progress = MailboxProgress()
    var rate = TransferRate()
    /// The bytes of the file under way, and the work that was done before it.
    var fileBytes = 0, workBefore = 0
  }
  private let sink: (@Sendable (MailboxProgress) -> Void)?
  private let state = Mutex(State())
  private let time = RealTime()

  init(_ sink: (@Sendable (MailboxProgress) -> Void)?) { self.sink = sink }

  /// A phase begins. `bytes` are those of the files that it takes in.
  func begin(_ phase: MailboxProgress.Phase, of files: Int = 0, bytes: Int = 0) {
    change { state in
      let progress = state.progress
      state = State()
      state.progress = progress
      (state.progress.phase, state.progress.file, state.progress.fileCount) = (phase, 0, files)
      (state.progress.workCount, state.progress.workDone, state.progress.transfer) = (2 * bytes, 0, nil)
    }
  }

  /// A file of so many bytes is about to be read.
  func beginFile(_ bytes: Int) {
    change { state in
      state.fileBytes = bytes
      state.progress.transfer = TransferProgress(.receiving, 0, of: UInt64(bytes))
    }
  }

  /// It is done with a file. One may be read more than once.
  func nextFile() {
    change { state in
      state.progress.file = min(state.progress.file + 1, state.progress.fileCount)
      state.workBefore = min(state.workBefore + 2 * state.fileBytes, state.progress.workCount)
      (state.progress.workDone, state.fileBytes, state.progress.transfer) = (state.workBefore, 0, nil)
    }
  }

  /// A file was applied, and has changed so much.
  func took(_ changes: Int) { change { $0.progress.changes += changes } }

  private func change(_ body: (inout State) -> Void) {
    guard let sink else { return }
    let progress = state.withLock { state in
      body(&state)
      state.progress.transfer = state.rate.timing(state.progress.transfer, at: time.now)
      return state.progress
    }
    sink(progress)
  }

  // MARK: What passes by

  /// Returns a reader that counts the bytes that are read.
  func reading(_ next: @escaping ([UInt8]) throws -> Void = { _ in }) -> ([UInt8]) throws -> Void {
    { bytes in
      self.change { state in
        state.progress.bytesRead += bytes.count
        state.progress.transfer?.bytes += UInt64(bytes.count)
        state.progress.workDone = state.workBefore + min(state.fileBytes, Int(state.progress.transfer?.bytes ?? 0))
      }
      try next(bytes)
    }
  }

  /// Returns a function that reports bytes of the delta that is being prepared.
  func preparing(_ next: @escaping ([UInt8]) throws -> Void) -> ([UInt8]) throws -> Void {
    change { $0.progress.transfer = TransferProgress(.preparing) }
    return { bytes in
      self.change { $0.progress.transfer?.bytes += UInt64(bytes.count) }
      try next(bytes)
    }
  }

  /// Returns a function that reports bytes as they are applied, of so many.
  func applying(_ byteCount: Int, _ next: @escaping () throws -> [UInt8]?) -> () throws -> [UInt8]? {
    change { $0.progress.transfer = TransferProgress(.applying, 0, of: UInt64(byteCount)) }
    return {
      let bytes = try next()
      self.change { state in
        state.progress.transfer?.bytes += UInt64(bytes?.count ?? 0)
        let applied = Int(state.progress.transfer?.bytes ?? 0)
        state.progress.workDone = state.workBefore + state.fileBytes + min(state.fileBytes, applied)
      }
      return bytes
    }
  }

  /// So many more records and links are joined.
  func joined(_ count: Int) { change { $0.progress.transfer?.records += count } }

  /// Returns a reader that counts the bytes that are put, of so many.
  func uploading(
    _ byteCount: Int, _ read: @escaping @Sendable (Int, Int) throws -> [UInt8]
  ) -> @Sendable (Int, Int) throws -> [UInt8] {
    change { $0.progress.transfer = TransferProgress(.sending, 0, of: UInt64(byteCount)) }
    return { offset, count in
      let bytes = try read(offset, count)
      self.change { state in
        let end = offset + bytes.count
        state.progress.bytesWritten = max(state.progress.bytesWritten, end)
        let before = state.progress.transfer?.bytes ?? 0
        state.progress.transfer?.bytes = max(before, UInt64(end))
      }
      return bytes
    }
  }
}
