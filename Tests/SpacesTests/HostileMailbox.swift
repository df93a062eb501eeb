#if Spaces
  import Synchronization
  import TallySync

  /// A place whose host does what it likes with what it shows.
  final class HostileMailbox: Mailbox {
    struct File: Sendable {
      var name: String
      var bytes: [UInt8]
      /// What the host says of it. Only what is available can be read.
      var state = MailboxItem.State.available
    }

    /// What the host does, or a test notices, while something is done.
    struct Hooks: Sendable {
      var onGet: @Sendable (String) async throws -> Void = { _ in }
      var onPut: @Sendable (String) async throws -> Void = { _ in }
    }

    let name = "hostile"
    let identity = "hostile"
    let kind: MailboxKind
    private let files = Mutex<[File]>([])
    private let everything = Mutex<[File]>([])
    private let deceit = Mutex<@Sendable ([File]) -> [File]>({ $0 })
    private let version = Mutex(0)
    private let hooked = Mutex(Hooks())
    private let callers = Mutex<(now: Int, most: Int)>((0, 0))

    init(_ kind: MailboxKind) { self.kind = kind }

    /// What has really been put.
    var truth: [File] { files.withLock { $0 } }
    /// Everything that has ever been put: a host forgets nothing.
    var history: [File] { everything.withLock { $0 } }
    /// The most calls that asked for news at once.
    var mostCallers: Int { callers.withLock { $0.most } }

    var hooks: Hooks {
      get { hooked.withLock { $0 } }
      set { hooked.withLock { $0 = newValue } }
    }

    /// From now on the host shows something else.
    func show(_ change: @escaping @Sendable ([File]) -> [File]) {
      deceit.withLock { $0 = change }
      version.withLock { $0 += 1 }
    }

    /// From now on the host has other bytes under a name.
    func damage(_ name: String, _ change: ([UInt8]) -> [UInt8]) {
      files.withLock { files in
        for index in files.indices where files[index].name == name { files[index].bytes = change(files[index].bytes) }
      }
      version.withLock { $0 += 1 }
    }

    private var shown: [File] { deceit.withLock { $0 }(truth) }

    func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
      callers.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      defer { callers.withLock { $0.now -= 1 } }
      // Others get a chance to call as well.
      for _ in 0..<10 { await Task.yield() }
      let version = version.withLock { $0 }
      let items = shown.map { file in
        let isHere = file.state == .available
        return MailboxItem(
          name: file.name, state: file.state, version: kind == .folder && isHere ? "\(version)" : nil,
          byteCount: isHere ? file.bytes.count : nil)
      }
      let end = MailboxCursor(position: UInt64(items.count), entry: "\(version)")
      let start = cursor?.entry == end.entry ? min(items.count, Int(cursor?.position ?? 0)) : nil
      return MailboxPage(
        items: Array(items[(kind == .log ? start ?? 0 : 0)...]), cursor: kind == .log ? end : nil,
        isListing: kind == .folder || start == nil)
    }

    func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      try await hooks.onGet(name)
      guard let file = shown.first(where: { $0.name == name }) else { throw MailboxError(.noSuchFile, "gone") }
      guard file.state == .available else { throw MailboxError(.unreadable, "elsewhere") }
      let bytes = Array(file.bytes.dropFirst(offset))
      return AsyncThrowingStream<[UInt8], any Error> { stream in
        for start in stride(from: 0, to: bytes.count, by: 10_000) {
          stream.yield(Array(bytes[start..<min(bytes.count, start + 10_000)]))
        }
        stream.finish()
      }
    }

    func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
      try await hooks.onPut(upload.name)
      var bytes: [UInt8] = []
      let source = upload.source()
      while let piece = try source() { bytes += piece }
      let file = File(name: upload.name, bytes: bytes)
      files.withLock { files in
        files.removeAll { $0.name == upload.name }
        files.append(file)
      }
      everything.withLock { $0.append(file) }
      return MailboxReceipt()
    }

    func remove(_ names: [String]) async throws { files.withLock { $0.removeAll { names.contains($0.name) } } }
  }
#endif
