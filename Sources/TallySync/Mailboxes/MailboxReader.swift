import TallyCRDT
import TallyStore
import TallyWire

/// Reading entries of a mailbox: the beginning, the checksum, or everything.
struct MailboxReader {
  /// A fault of the file or the mailbox, and not of what is done with the bytes.
  struct Fault: Error {
    var reason: MailboxReport.Issue.Reason
    var message: String
    /// The beginning of an entry whose header cannot be read.
    var head: [UInt8]?
    /// Whether the place has the entry without its content.
    var isLost = false
    /// Whether the place has no such entry.
    var isMissing = false

    init(_ reason: MailboxReport.Issue.Reason, _ message: String) {
      self.reason = reason
      self.message = message
    }

    /// Creates the fault of a file from an error of the mailbox or of the format.
    init(_ error: any Error) {
      switch error {
      case let error as Fault: self = error
      case let error as MailboxError:
        self.init(error.code == .notAFile ? .notAFile : .unreadable, error.message)
        (isLost, isMissing) = (error.code == .contentLost, error.code == .noSuchFile)
      case let error as WireError:
        switch error.code {
        case .unsupportedVersion: self.init(.newerVersion, error.message)
        case .limitExceeded: self.init(.tooLarge, error.message)
        default: self.init(.incomplete, error.message)
        }
      default: self.init(.unreadable, "\(error)")
      }
    }

    /// Whether another try may help.
    var isPassing: Bool {
      switch reason {
      case .waitsForOthers, .notDownloaded, .incomplete, .unreadable: true
      case .newerVersion, .tooLarge, .notAFile, .wrongZone, .refusedByStore: false
      }
    }
  }

  /// The number of bytes at the beginning of an entry that decide whether this version can read the rest.
  static let headBytes = 32

  let mailbox: any Mailbox

  /// The header alone; the rest is not read.
  /// - Throws: `Fault`, `CancellationError`.
  func header(of item: MailboxItem) async throws -> MailboxHeader {
    var download = Download(item, mailbox)
    return try await header(in: &download) { _ in }.header
  }

  /// Reads an entry to its end and compares its checksum. The sink takes the bytes as they come; its errors pass
  /// through. `known` is what its header was found to say.
  /// - Returns: the content, and the number of bytes of its header if that names another entry.
  /// - Throws: `Fault`, `CancellationError`, what the sink throws.
  func content(
    of item: MailboxItem, knownAs known: EntryContent, to sink: ([UInt8]) throws -> Void = { _ in }
  ) async throws -> (content: EntryContent, relativeLength: Int?) {
    var download = Download(item, mailbox)
    var tally = Tally()
    let (header, length) = try await header(in: &download) { piece in
      tally.add(piece)
      try sink(piece)
    }
    while let piece = try await download.next() {
      tally.add(piece)
      try sink(piece)
    }
    guard let check = tally.check else { throw Fault(.incomplete, "the checksum does not match") }
    switch header {
    case .ordinary(let header):
      return (EntryContent(header: header, check: check, byteCount: tally.byteCount), nil)
    case .relative(let relative):
      guard relative.reference == known.reference, relative.isForm(of: known.header) else {
        throw Fault(.incomplete, "it has changed while it was looked at")
      }
      let content = EntryContent(
        header: known.header, reference: known.reference, check: check, byteCount: tally.byteCount)
      return (content, length)
    }
  }

  /// Reads an entry to its end and compares its checksum.
  /// - Throws: `Fault`, `CancellationError`.
  func verify(_ item: MailboxItem, is check: UInt64) async throws {
    var download = Download(item, mailbox)
    var tally = Tally()
    while let piece = try await download.next() { tally.add(piece) }
    guard tally.check == check else { throw Fault(.incomplete, "the checksum does not match") }
  }

  /// Whether an entry is what its name says.
  /// - Throws: what keeps it from being read to the end that was listed.
  func isWhole(_ item: MailboxItem, check: UInt64) async throws -> Bool {
    var download = Download(item, mailbox)
    var tally = Tally()
    while let piece = try await download.next() { tally.add(piece) }
    guard tally.byteCount == item.byteCount else { throw Fault(.unreadable, "it ends before its end") }
    return tally.check == check
  }

  /// Whether the place has an entry without its content.
  /// - Throws: `CancellationError`.
  func isLost(_ item: MailboxItem) async throws -> Bool {
    var download = Download(item, mailbox)
    do {
      _ = try await download.next()
      return false
    } catch let fault as Fault {
      return fault.isLost
    }
  }

  /// Reads pieces until they make a header. It is decoded again after each doubling, however small the pieces are.
  private func header(in download: inout Download, _ sink: ([UInt8]) throws -> Void) async throws
    -> (header: MailboxHeader, length: Int)
  {
    var bytes: [UInt8] = []
    var next = 0
    while true {
      let piece = try await download.next()
      if let piece {
        try sink(piece)
        bytes += piece
        if bytes.count < next { continue }
      }
      do {
        guard let found = try MailboxHeader.decode(bytes) else {
          throw WireError(.truncated, "the delta ends within its header")
        }
        return found
      } catch let error as WireError {
        if piece != nil, error.code == .truncated {
          next = 2 * bytes.count
          continue
        }
        var fault = Fault(error)
        fault.head = Array(bytes.prefix(Self.headBytes))
        throw fault
      }
    }
  }

  /// Returns the fault of an entry that begins like this, as far as that decides it; nil if it is to be read.
  static func fault(ofHead head: [UInt8]) -> Fault? {
    do {
      _ = try MailboxHeader.decode(head)
      return nil
    } catch {
      return Fault(error)
    }
  }

  /// The bytes of an entry, which go on where the mailbox broke off, as long as each try brings something.
  private struct Download {
    private let item: MailboxItem
    private let mailbox: any Mailbox
    private var pieces: (any AsyncIteratorProtocol<[UInt8], any Error>)?
    private var offset = 0
    /// The offset at which the mailbox was last asked for bytes.
    private var start = -1
    private var isOver = false

    init(_ item: MailboxItem, _ mailbox: any Mailbox) { (self.item, self.mailbox) = (item, mailbox) }

    mutating func next() async throws -> [UInt8]? {
      if let content = item.content {
        defer { isOver = true }
        return isOver || content.isEmpty ? nil : content
      }
      while !isOver {
        do {
          if let piece = try await piece(), !piece.isEmpty {
            offset += piece.count
            // In a folder a file may have grown since it was listed; in a log it has the size that it has.
            guard mailbox.kind != .log || offset <= item.byteCount ?? .max else {
              throw Fault(.unreadable, "it goes on beyond the size that was listed")
            }
            return piece
          }
          // A connection that is cut can look like the end.
          isOver = offset >= item.byteCount ?? 0 || start == offset
          pieces = nil
        } catch {
          guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
          guard start != offset else { throw Fault(error) }
          start = offset
          if !(pieces is any ResumablePieces) { pieces = nil }
        }
      }
      return nil
    }

    private mutating func piece() async throws -> [UInt8]? {
      if pieces == nil {
        start = offset
        pieces = try await mailbox.get(item.name, from: offset).makeAsyncIterator()
      }
      return try await pieces?.next()
    }
  }

  /// The sum of bytes that pass by, and the last eight of them.
  private struct Tally {
    private var sum = SipHash()
    private var last: [UInt8] = []
    private(set) var byteCount = 0

    mutating func add(_ piece: [UInt8]) {
      byteCount += piece.count
      let bytes = last + piece
      let cut = max(0, bytes.count - 8)
      bytes.withUnsafeBytes { sum.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[..<cut])) }
      last = Array(bytes[cut...])
    }

    /// The last eight bytes, if they are the checksum of those before.
    var check: UInt64? {
      let trailer = last.reduce(0) { $0 << 8 | UInt64($1) }
      return last.count == 8 && trailer == sum.finalized() ? trailer : nil
    }
  }
}
