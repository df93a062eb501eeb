import Foundation
import TallyRelayProtocol
import TallySync

/// A mailbox that is a space on a relay: a log that announces new entries.
///
/// ```swift
/// let mailbox = try RelayMailbox("https://relay.example/s/3f2a…", token: token)
/// try await store.sync(through: mailbox)
/// await engine.add(mailbox, named: "relay")
/// ```
///
/// All devices that use the space sync with each other through it, even if they are never online together. The relay
/// numbers and keeps the entries that devices put, but does not interpret them: the stores merge them, so the same
/// writes win as over any other transport. An engine learns of new entries as they arrive and needs no interval for
/// them.
///
/// Spaces are not encrypted yet, so the relay's owner can read everything in them. A device with a token for the space
/// can read it, and can change it if the token permits writing. Errors are `RelayError`, except where `Mailbox`
/// requires a `MailboxError`. A mailbox is a value with one address: copies share their client and its connections.
public struct RelayMailbox: Mailbox {
  /// The address of the space at the relay.
  public let address: RelaySpaceAddress
  let client: RelayClient
  private let follower: RelayFollower

  /// Creates a mailbox for a space on a relay. Nothing is sent until it is used.
  ///
  /// ```swift
  /// var settings = RelayClient.Settings()
  /// settings.timeout = .seconds(20)
  /// let mailbox = try RelayMailbox("https://relay.example/s/3f2a", token: token, settings)
  /// ```
  ///
  /// - Parameters:
  ///   - address: the address `https://HOST/s/ID`, as printed by `tally relay token`.
  ///   - token: the token, as printed by `tally relay token`. It determines what is allowed, and can belong to one
  ///     device or be shared.
  ///   - settings: timeouts and retries; the default settings suit most apps.
  /// - Throws: `RelayError` of code `invalidAddress`. An invalid token is detected only when it is used.
  public init(_ address: String, token: String, _ settings: RelayClient.Settings = RelayClient.Settings()) throws {
    guard let address = RelaySpaceAddress(address) else {
      throw RelayError(.invalidAddress, "invalid relay address; expected https://HOST/s/ID")
    }
    self.init(address, RelayClient(address.relay, token: token, settings))
  }

  /// Creates a mailbox that shares a client, and so its connections, with mailboxes for other spaces of the same relay.
  ///
  /// - Parameters:
  ///   - space: the space's id, the last part of its address.
  ///   - client: the client, whose token must open the space.
  /// - Throws: `RelayError` of code `invalidAddress` if the client's address or the space's id is malformed.
  public init(space: String, on client: RelayClient) throws {
    guard let address = RelaySpaceAddress(relay: client.relay, space: space) else {
      throw RelayError(
        .invalidAddress, "invalid relay address or space id; expected https://HOST and the ID of https://HOST/s/ID")
    }
    self.init(address, client)
  }

  private init(_ address: RelaySpaceAddress, _ client: RelayClient) {
    (self.address, self.client) = (address, client)
    follower = RelayFollower(client, address.space)
  }

  /// The maximum number of bytes that the client sends in one request after a proxy before the relay has refused more:
  /// see `RelayClient.bodyLimit`.
  public var bodyLimit: Int? { client.bodyLimit }
  /// The space's address, for logs and status.
  public var name: String { address.description }
  /// The space's address, which distinguishes it from all other places.
  public var identity: String { "relay \(address)" }
  /// Always `.log`: a relay keeps what it has accepted, in one order.
  public var kind: MailboxKind { .log }

  /// Returns the entries after a cursor. It makes one request, or none if the entries have arrived over the stream of
  /// events.
  /// - Throws: `RelayError`; `CancellationError`.
  public func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
    if let cursor = RelayCursor(cursor), let page = await follower.page(after: cursor) { return MailboxPage(page) }
    let answer = try await send(
      "GET", "/changes?limit=\(RelayLimits.pageEntries)\(Self.query(cursor))", limit: RelayLimits.pageBytes)
    guard answer.status == 200 else { throw RelayError(answer) }
    client.noteBatches(answer)
    return MailboxPage(try Self.page(answer))
  }

  /// Returns the bytes of an entry from an offset on, half a mebibyte per request. While the caller has one piece, the
  /// next one is on its way. If a request breaks off, the next one continues there.
  /// - Throws: `MailboxError` of code `noSuchFile` if there is no such entry, here or with the first piece;
  ///   `RelayError`, with the piece that failed.
  public func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
    guard RelayNames.isEntry(name) else { throw MailboxError(.noSuchFile, "no entry has such a name") }
    return RelayPieces(mailbox: self, name: name, offset: offset)
  }

  /// Removes entries, up to 256 per request, or one per request if the relay is an older one. Removing an entry that
  /// does not exist is not an error.
  /// - Throws: `RelayError`, with `forbidden` for a read-only token; other entries may have been removed by then.
  public func remove(_ names: [String]) async throws {
    var rest = names.filter { RelayNames.isEntry($0) }[...]
    while !rest.isEmpty {
      let batch = rest.prefix(client.largestBatchOfNames)
      if batch.count > 1, let results = try await write(batch.map { .removal(name: $0) }, after: nil) {
        for case .refused(let code, let retryAfter) in results.results where code != .noSuchEntry {
          throw RelayError(code, retryAfter: retryAfter)
        }
        rest = rest.dropFirst(batch.count)
      } else if let name = rest.popFirst() {
        let answer = try await send("DELETE", "/entries/\(name)", limit: RelayLimits.problemBytes)
        guard answer.status == 204 || RelayError(answer).code == .noSuchEntry else { throw RelayError(answer) }
      }
    }
  }

  /// Waits for new entries after a cursor: it follows the relay's events, or uses long polling.
  ///
  /// The stream of events stays open for a while after the wait, so the next wait can use it.
  /// - Throws: `RelayError` if the relay cannot be reached; `CancellationError`.
  public func wait(after cursor: MailboxCursor?) async throws {
    guard !(try await follower.wait(after: RelayCursor(cursor))) else { return }
    let seconds = min(max(1, client.settings.longPoll.components.seconds), Int64(RelayLimits.longestWait))
    while true {
      let answer = try await send(
        "GET", "/changes?limit=0&wait=\(seconds)\(Self.query(cursor))", limit: RelayLimits.pageBytes)
      switch answer.status {
      case 200:
        _ = try Self.page(answer)
        return
      // A server that never waits would be asked without a pause.
      case 204: try await client.settings.sleep(client.settings.pause)
      default: throw RelayError(answer)
      }
    }
  }

  /// Returns the status of the space from the relay: its size and its limit.
  ///
  /// ```swift
  /// let status = try await RelayMailbox("https://relay.example/s/3f2a", token: token).status()
  /// ```
  ///
  /// It makes one request, which also checks whether the token is valid before an engine uses it.
  /// - Throws: `RelayError`; `CancellationError`.
  public func status() async throws -> RelaySpaceStatus { try await client.status(of: address.space) }

  // MARK: Requests

  func send(
    _ method: String, _ path: String, fields: [String: String] = [:], body: [UInt8]? = nil, limit: Int
  ) async throws -> RelayAnswer {
    try await client.send(method, address.space, path, fields: fields, body: body, limit: limit)
  }

  private static func query(_ cursor: MailboxCursor?) -> String {
    RelayCursor(cursor).map { "&after=\($0)" } ?? ""
  }

  private static func page(_ answer: RelayAnswer) throws -> RelayPage {
    do {
      return try RelayPage(answer.body)
    } catch .check {
      throw RelayError(.damaged, "the list of what is new was changed on the way")
    } catch {
      throw RelayError(.notARelay, "not a relay: malformed page, \(error.rawValue)")
    }
  }
}
