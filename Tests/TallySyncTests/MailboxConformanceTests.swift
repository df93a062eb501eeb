import Foundation
import Synchronization
import Tally
import TallyRig
import TallySync
import TallyTesting
import TestEffort
import Testing

/// Every mailbox keeps the contract of `Mailbox`; and the suite that says so finds those that do not.
@Suite(.serialized, .timeLimit(.minutes(5))) struct MailboxConformanceTests {
  @Test(arguments: MailboxConformance.rules) func memory(_ rule: MailboxConformance.Rule) async throws {
    try await rule.check(within: .seconds(120)) { MemoryMailbox() }
  }

  @Test(arguments: MailboxConformance.rules) func folder(_ rule: MailboxConformance.Rule) async throws {
    let folder = try SharedFolder()
    let mailbox = folder.mailbox
    try await rule.check(within: .seconds(120)) { mailbox }
    withExtendedLifetime(folder) {}
  }

  /// Forty lines, as somebody might write them for a server of files.
  @Test(arguments: MailboxConformance.rules) func setOfFiles(_ rule: MailboxConformance.Rule) async throws {
    try await rule.check(within: .seconds(120)) { PlainFiles() }
  }

  @Test(arguments: MailboxConformance.rules) func log(_ rule: MailboxConformance.Rule) async throws {
    try await rule.check(within: .seconds(120)) { MemoryLog() }
    try await rule.check(within: .seconds(120)) { MemoryLog(pageSize: 1) }
    try await rule.check(within: .seconds(120)) { MemoryLog(pageSize: 7, inlineBytes: 1 << 14) }
  }

  /// The model of the simulated worlds keeps the contract that the relay itself keeps, pushes included.
  @Test(arguments: MailboxConformance.rules) func simulatedRelay(_ rule: MailboxConformance.Rule) async throws {
    try await rule.check(within: .seconds(120)) { PushedRelay(MemoryRelayLog()).mailbox(0) }
  }

  /// A suite that finds nothing wrong with anything is worth nothing.
  @Test(arguments: Effort.sample(FaultyLog.Fault.allCases, 6)) func aMailboxThatBreaksTheContractIsFound(
    _ fault: FaultyLog.Fault
  )
    async throws
  {
    let rule = try #require(MailboxConformance.rules.first { $0.name == fault.rule })
    // A log that never ends a wait costs as long as this.
    let limit: Duration = fault.isSlow ? .seconds(2) : .seconds(60)
    let failure = await #expect(throws: ConformanceFailure.self) {
      try await rule.check(within: limit) { FaultyLog(fault) }
    }
    #expect(failure?.rule == fault.rule && failure?.message.isEmpty == false)
  }
}

/// The four calls, and nothing else.
private final class PlainFiles: FileMailbox {
  let name = "plain"
  private let files = Mutex<[String: [UInt8]]>([:])

  func list(prefix: String) throws -> [MailboxItem] {
    files.withLock { files in files.keys.filter { $0.hasPrefix(prefix) }.map { MailboxItem(name: $0, version: "1") } }
  }

  func get(_ name: String) throws -> () throws -> [UInt8]? {
    guard let bytes = files.withLock({ $0[name] }) else { throw MailboxError(.noSuchFile, "there is no such file") }
    var rest = bytes[...]
    return {
      defer { rest = rest.dropFirst(1_000) }
      return rest.isEmpty ? nil : Array(rest.prefix(1_000))
    }
  }

  func put(_ name: String, from source: () throws -> [UInt8]?) throws {
    var bytes: [UInt8] = []
    while let piece = try source() { bytes += piece }
    files.withLock { $0[name] = bytes }
  }

  func remove(_ name: String) throws { files.withLock { $0[name] = nil } }
}

/// A log that breaks the contract in one way.
final class FaultyLog: Mailbox {
  enum Fault: String, CaseIterable {
    case losesTheEnd, ignoresTheOffset, listsTwice, putsTwice, putsWhatFailed, losesUploads, listsAWrongSize
    case sendsOtherContent, readsWhatIsNotThere, skipsAtPages, forgetsTheOrder, trustsPositions, knowsNoCursor
    case receiptSkipsOthers, waitsForEver, waitIgnoresCancellation, waitEndsOrderlyWhenCancelled, hasMoreForEver

    /// Whether only time tells.
    var isSlow: Bool { self == .waitsForEver || self == .waitIgnoresCancellation }

    /// The rule that finds it.
    var rule: String {
      switch self {
      case .losesTheEnd, .losesUploads, .listsAWrongSize, .sendsOtherContent: "whatWasPutIsListedAndWhole"
      case .listsTwice: "whatWasPutIsListedAndWhole"
      case .putsTwice: "puttingTwiceIsOneEntry"
      case .ignoresTheOffset: "aDownloadBeginsAtAnyOffset"
      case .readsWhatIsNotThere: "anEntryThatIsNotThereIsAnError"
      case .putsWhatFailed: "anUploadThatFailsPutsNothing"
      case .skipsAtPages, .forgetsTheOrder: "pagesHoldEveryEntryOnce"
      case .hasMoreForEver: "anEmptyPlaceListsNothing"
      case .knowsNoCursor: "afterACursorComesWhatIsNew"
      case .trustsPositions: "aCursorOfAnotherLogGivesAListing"
      case .receiptSkipsOthers: "aReceiptsCursorLeavesNothingOut"
      case .waitIgnoresCancellation, .waitEndsOrderlyWhenCancelled: "cancellingEndsAWait"
      case .waitsForEver: "aWaitThatIsBehindEndsAtOnce"
      }
    }
  }

  let name = "faulty", identity = "faulty"
  let kind = MailboxKind.log
  private let fault: Fault
  private let log = MemoryLog(pageSize: 20)
  private let uploads = Mutex<Set<String>>([])
  private let known = Mutex<[UInt64: MailboxCursor]>([:])

  init(_ fault: Fault) { self.fault = fault }

  func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    var cursor = cursor
    if fault == .knowsNoCursor, try await log.changes(after: cursor).items.isEmpty { cursor = nil }
    if fault == .trustsPositions, let position = cursor?.position {
      let all = known.withLock { $0 }
      cursor = all[min(position, all.keys.max() ?? 0)] ?? cursor
    }
    var page = try await log.changes(after: cursor)
    if let cursor = page.cursor { known.withLock { $0[cursor.position] = cursor } }
    switch fault {
    case .listsTwice: page.items += page.items
    case .listsAWrongSize: for index in page.items.indices { page.items[index].byteCount = 1 }
    case .sendsOtherContent: for index in page.items.indices { page.items[index].content = [1, 2, 3] }
    case .skipsAtPages where page.hasMore: page.items.removeLast()
    case .forgetsTheOrder: page.items.reverse()
    case .hasMoreForEver: page.hasMore = true
    case .knowsNoCursor: page.isListing = true
    default: break
    }
    return page
  }

  func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    var bytes: [UInt8]
    do {
      bytes = try await log.bytes(of: name)
    } catch {
      guard fault == .readsWhatIsNotThere else { throw error }
      bytes = []
    }
    if fault == .losesTheEnd { bytes.removeLast() }
    let rest = fault == .ignoresTheOffset ? bytes : Array(bytes[min(offset, bytes.count)...])
    return AsyncThrowingStream<[UInt8], any Error> { stream in
      for start in stride(from: 0, to: rest.count, by: 1 << 18) {
        stream.yield(Array(rest[start..<min(rest.count, start + 1 << 18)]))
      }
      stream.finish()
    }
  }

  func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
    let isNew = uploads.withLock { $0.insert(upload.name).inserted }
    switch fault {
    case .losesUploads: return MailboxReceipt()
    case .putsTwice where !isNew:
      return try await log.put(
        MailboxUpload(name: upload.name + " 2", byteCount: upload.byteCount) { try upload.bytes(from: $0, count: $1) })
    case .putsWhatFailed:
      var bytes: [UInt8] = []
      let source = upload.source()
      do {
        while let piece = try source() { bytes += piece }
      } catch {
        _ = try await log.put(MailboxUpload(name: upload.name, bytes: bytes))
        throw error
      }
      return try await log.put(upload)
    case .receiptSkipsOthers:
      _ = try await log.put(upload)
      var cursor: MailboxCursor?
      repeat { cursor = try await log.changes(after: cursor).cursor } while cursor?.position ?? 0 < UInt64(log.count)
      return MailboxReceipt(cursor: cursor)
    default: return try await log.put(upload)
    }
  }

  func remove(_ names: [String]) async throws { try await log.remove(names) }

  func wait(after cursor: MailboxCursor?) async throws {
    switch fault {
    case .waitsForEver: try await MemoryMailbox().wait(after: nil)
    case .waitIgnoresCancellation: await Task { await withCheckedContinuation { Self.waiting.keep($0) } }.value
    case .waitEndsOrderlyWhenCancelled: do { try await log.wait(after: cursor) } catch { return }
    default: try await log.wait(after: cursor)
    }
  }

  /// Continuations that nobody resumes, kept so that nobody complains.
  private final class Forever: Sendable {
    private let all = Mutex<[CheckedContinuation<Void, Never>]>([])
    func keep(_ continuation: CheckedContinuation<Void, Never>) { all.withLock { $0.append(continuation) } }
  }
  private static let waiting = Forever()
}
