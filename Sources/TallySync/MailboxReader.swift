import TallyCRDT
import TallyStore
import TallyWire

/// Reading files of a mailbox: the beginning, the checksum, or everything.
struct MailboxReader {
  /// A fault of the file or the mailbox, and not of what is done with the bytes.
  struct Fault: Error {
    var reason: MailboxReport.Issue.Reason
    var message: String

    init(_ reason: MailboxReport.Issue.Reason, _ message: String) {
      self.reason = reason
      self.message = message
    }

    /// What an error of the mailbox or of the format says about a file.
    init(_ error: any Error) {
      switch error {
      case let error as Fault: self = error
      case let error as MailboxError:
        self.init(error.code == .notAFile ? .notAFile : .unreadable, error.message)
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
      case .waitsForOthers, .elsewhere, .incomplete, .unreadable: true
      case .newerVersion, .tooLarge, .notAFile, .wrongZone, .refusedByStore: false
      }
    }
  }

  let mailbox: any Mailbox

  /// The header alone; the rest is not read.
  func header(of name: String) throws(Fault) -> DeltaHeader {
    do {
      return try DeltaReader(from: Self.doubling(try mailbox.get(name))).header
    } catch {
      throw Fault(error)
    }
  }

  /// Reads a file to its end and compares its checksum.
  /// - Parameter sink: takes the bytes as they come; its errors pass through.
  func content(of name: String, to sink: ([UInt8]) throws -> Void = { _ in }) throws -> MailboxNotes.Content {
    let source: () throws -> [UInt8]?
    let tally = Tally()
    do { source = try mailbox.get(name) } catch { throw Fault(error) }
    func next() throws -> [UInt8]? {
      let piece: [UInt8]?
      do { piece = try source() } catch { throw Fault(error) }
      guard let piece else { return nil }
      tally.add(piece)
      try sink(piece)
      return piece
    }
    let header = try withoutActuallyEscaping(next) { next in
      do {
        return try DeltaReader(from: Self.doubling(next)).header
      } catch let error as WireError {
        throw Fault(error)
      }
    }
    while try next() != nil {}
    guard let check = tally.check else { throw Fault(.incomplete, "the checksum does not match") }
    return MailboxNotes.Content(header: header, check: check, byteCount: tally.byteCount)
  }

  /// Gives bytes in pieces that grow: a header is decoded again with each piece, and may be long.
  private static func doubling(_ source: @escaping () throws -> [UInt8]?) -> () throws -> [UInt8]? {
    var given = 0
    return {
      var bytes: [UInt8] = []
      while bytes.count <= given, let piece = try source() { bytes += piece }
      given += bytes.count
      return bytes.isEmpty ? nil : bytes
    }
  }

  /// The sum of bytes that pass by, and the last eight of them.
  private final class Tally {
    private var sum = SipHash()
    private var last: [UInt8] = []
    private(set) var byteCount = 0

    func add(_ piece: [UInt8]) {
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
