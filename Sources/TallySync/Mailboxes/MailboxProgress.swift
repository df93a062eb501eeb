import Synchronization

/// The progress of a pass.
public struct MailboxProgress: Sendable, Equatable {
  /// The phases of a pass, in order; a store that finds its damage meanwhile begins again.
  public enum Phase: String, Sendable {
    /// It lists the mailbox, and reads what files begin with.
    case looking
    /// It reads files and applies them.
    case taking
    /// It writes what the mailbox lacks.
    case putting
  }

  /// The part of the pass that is under way.
  public var phase = Phase.looking
  /// The number of files that the pass has looked at or taken, and their total number; 0 of 0 while it lists.
  public var file = 0, fileCount = 0
  /// Bytes read from the mailbox so far, and handed to it.
  public var bytesRead = 0, bytesWritten = 0
  /// Records and links that have changed here, by the files that are applied so far.
  public var changes = 0
  /// The fraction of the files under way that is done, 0 to 1; nil while the pass lists, and while it writes.
  public var fraction: Double? {
    phase == .putting || fileCount == 0 ? nil : Double(file) / Double(fileCount)
  }

  /// The progress of a pass that is about to begin.
  public init() {}
}

/// Tells whoever wants to know how far a pass is.
final class ProgressTeller: Sendable {
  private let sink: (@Sendable (MailboxProgress) -> Void)?
  private let state = Mutex(MailboxProgress())

  init(_ sink: (@Sendable (MailboxProgress) -> Void)?) { self.sink = sink }

  /// A phase begins.
  func begin(_ phase: MailboxProgress.Phase, of files: Int = 0) {
    change { ($0.phase, $0.file, $0.fileCount) = (phase, 0, files) }
  }

  /// It is done with a file. One may be read more than once.
  func nextFile() { change { $0.file = min($0.file + 1, $0.fileCount) } }

  /// A file was applied, and has changed so much.
  func took(_ changes: Int) { change { $0.changes += changes } }

  private func change(_ body: (inout MailboxProgress) -> Void) {
    guard let sink else { return }
    let progress = state.withLock { state in
      body(&state)
      return state
    }
    sink(progress)
  }

  // MARK: What passes by

  /// Returns a reader that counts the bytes that are read.
  func reading(_ next: @escaping ([UInt8]) throws -> Void = { _ in }) -> ([UInt8]) throws -> Void {
    { bytes in
      self.change { $0.bytesRead += bytes.count }
      try next(bytes)
    }
  }

  /// Returns a function that reports bytes as they are written.
  func telling(_ next: @escaping ([UInt8]) throws -> Void) -> ([UInt8]) throws -> Void {
    { bytes in
      self.change { _ in }
      try next(bytes)
    }
  }

  /// Returns a function that reports bytes as they are applied.
  func telling(_ next: @escaping () throws -> [UInt8]?) -> () throws -> [UInt8]? {
    {
      self.change { _ in }
      return try next()
    }
  }

  /// Returns a reader that counts the bytes that are put.
  func uploading(_ read: @escaping @Sendable (Int, Int) throws -> [UInt8]) -> @Sendable (Int, Int) throws -> [UInt8] {
    { offset, count in
      let bytes = try read(offset, count)
      self.change { $0.bytesWritten = max($0.bytesWritten, offset + bytes.count) }
      return bytes
    }
  }
}
