#if Spaces
  import Synchronization
  import TallySync

  /// A place whose host does what it likes with what it shows.
  final class HostileMailbox: Mailbox {
    struct File: Sendable {
      var name: String
      var bytes: [UInt8]
    }

    let name = "hostile"
    let identity = "hostile"
    let kind: MailboxKind
    private let files = Mutex<[File]>([])
    private let deceit = Mutex<@Sendable ([File]) -> [File]>({ $0 })
    private let version = Mutex(0)

    init(_ kind: MailboxKind) { self.kind = kind }

    /// What has really been put.
    var truth: [File] { files.withLock { $0 } }

    /// From now on the host shows something else.
    func show(_ change: @escaping @Sendable ([File]) -> [File]) {
      deceit.withLock { $0 = change }
      version.withLock { $0 += 1 }
    }

    private var shown: [File] { deceit.withLock { $0 }(truth) }

    func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
      let version = version.withLock { $0 }
      let items = shown.map {
        MailboxItem(name: $0.name, version: kind == .folder ? "\(version)" : nil, byteCount: $0.bytes.count)
      }
      let end = MailboxCursor(position: UInt64(items.count), entry: "\(version)")
      let start = cursor?.entry == end.entry ? min(items.count, Int(cursor?.position ?? 0)) : nil
      return MailboxPage(
        items: Array(items[(kind == .log ? start ?? 0 : 0)...]), cursor: kind == .log ? end : nil,
        isListing: kind == .folder || start == nil)
    }

    func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      guard let file = shown.first(where: { $0.name == name }) else { throw MailboxError(.noSuchFile, "gone") }
      let bytes = Array(file.bytes.dropFirst(offset))
      return AsyncThrowingStream<[UInt8], any Error> { stream in
        for start in stride(from: 0, to: bytes.count, by: 10_000) {
          stream.yield(Array(bytes[start..<min(bytes.count, start + 10_000)]))
        }
        stream.finish()
      }
    }

    func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
      var bytes: [UInt8] = []
      let source = upload.source()
      while let piece = try source() { bytes += piece }
      files.withLock { files in
        files.removeAll { $0.name == upload.name }
        files.append(File(name: upload.name, bytes: bytes))
      }
      return MailboxReceipt()
    }

    func remove(_ names: [String]) async throws { files.withLock { $0.removeAll { names.contains($0.name) } } }
  }
#endif
