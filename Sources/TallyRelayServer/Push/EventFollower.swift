#if Relay
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import TallyRelayProtocol

  /// Writes the events of one stream.
  ///
  /// Ten thousand of these may wait at once, and async frames are most of the memory that each needs. State that the
  /// steps share is therefore stored here, and each step is a function of its own that is never inlined: a waiting
  /// stream holds only small frames, which fit into the slabs of about 1 KiB in which a task allocates.
  final class EventFollower {
    private static let comment = ByteBuffer(string: ":\n\n")
    /// What an event may have that no room is taken for: it is part of what a connection costs.
    private static let shortBytes = 1_024

    private let api: RelayAPI
    private let bearer: RelayStore.Bearer
    private let seat: RateLimit.Seat
    private let channel: any Channel
    private let stream: Int
    private var cursor: RelayCursor?
    /// When the token was looked up last.
    private var checked: Duration
    private let end: Duration
    private var ticket: RelayNews.Ticket

    init(
      _ api: RelayAPI, _ bearer: RelayStore.Bearer, _ seat: RateLimit.Seat, after cursor: RelayCursor?,
      on channel: any Channel
    ) {
      (self.api, self.bearer, self.seat, self.channel, self.cursor) = (api, bearer, seat, channel, cursor)
      stream = api.streams.open(bearer.space, channel)
      checked = api.time()
      end = checked + api.streamLife()
      ticket = api.news.ticket(for: bearer.space)
    }

    /// Writes events until the stream has lived long enough, the token counts no longer, the space is deleted, or the
    /// relay is about to end.
    func run(_ writer: inout any ResponseBodyWriter) async throws {
      defer { leave() }
      // The first word tells the client that nobody on the way keeps words back.
      try await write(Self.comment, to: &writer)
      while try await writeNews(to: &writer), api.time() < end {
        switch await api.news.wait(ticket, at: stream) {
        case .news: continue
        case .closing: return
        case .timeout: guard try await writeComment(to: &writer) else { return }
        }
      }
    }

    private func leave() {
      api.streams.close(stream)
      seat.leave()
    }

    /// Writes what has come since.
    /// - Returns: whether the stream goes on.
    @inline(never)
    private func writeNews(to writer: inout any ResponseBodyWriter) async throws -> Bool {
      ticket = api.news.ticket(for: bearer.space)
      let lines: EventPages.Lines?
      do { lines = try await api.pages.event(ticket, after: cursor) } catch let problem as RelayProblem
        where problem.code == .noSuchSpace
      { return false }
      guard let lines else { return true }
      if api.time() - checked > api.limits.tokenPause {
        guard try await counts() else { return false }
      }
      try await write(affordable(lines), to: &writer)
      cursor = lines.cursor
      return true
    }

    /// An event, or where there is no room in memory for its page a short one that says where the log stands.
    private func affordable(_ lines: EventPages.Lines) -> ByteBuffer {
      guard lines.bytes.readableBytes > Self.shortBytes else { return lines.bytes }
      do {
        AnswerWatch.keep(try api.answers.room(for: lines.bytes.readableBytes, of: bearer.hash), on: channel)
        return lines.bytes
      } catch {
        return EventPages.lines(RelayEvent(.news, at: lines.cursor)).bytes
      }
    }

    /// - Returns: whether the stream goes on.
    @inline(never)
    private func writeComment(to writer: inout any ResponseBodyWriter) async throws -> Bool {
      guard try await counts() else { return false }
      try await write(Self.comment, to: &writer)
      return true
    }

    @inline(never)
    private func write(_ bytes: ByteBuffer, to writer: inout any ResponseBodyWriter) async throws {
      api.streams.note(stream, isWriting: true)
      try await writer.write(bytes)
      api.streams.note(stream, isWriting: false)
    }

    /// Whether the token counts still, and its space is there.
    @inline(never)
    private func counts() async throws -> Bool {
      do {
        try await api.authorization.checkAgain(bearer)
        checked = api.time()
        return true
      } catch is RelayProblem {
        return false
      }
    }
  }
#endif
