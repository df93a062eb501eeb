/// Fetches small entries several at a time, in the order in which a pass is going to read them, where the place gives
/// several at once. It keeps what one answer brings, and gives each content once.
struct MailboxReadAhead {
  private let mailbox: any Mailbox
  /// What is going to be read, the next first.
  private var planned: ArraySlice<MailboxItem> = []
  private var names: Set<String> = []
  private var contents: [String: [UInt8]] = [:]

  /// The largest entry that is worth asking for together with others.
  private static let largestEntry = 1 << 16
  /// The most bytes that are asked for at once.
  private static let mostBytes = 1 << 20
  /// The most entries that are asked for at once.
  private static let mostEntries = 256

  init(_ mailbox: any Mailbox) { self.mailbox = mailbox }

  /// Says what is read next, in this order. What was planned before is dropped.
  mutating func plan(_ items: some Sequence<MailboxItem>) {
    planned = items.filter { $0.content == nil && $0.byteCount.map { $0 <= Self.largestEntry } ?? false }[...]
    names = Set(planned.map(\.name))
    contents = [:]
  }

  /// An item with its content, if that was fetched, or is together with those that come after it.
  mutating func item(_ item: MailboxItem) async throws -> MailboxItem {
    guard item.content == nil else { return item }
    if names.contains(item.name), let index = planned.firstIndex(where: { $0.name == item.name }) {
      planned = planned[index...]
      // Those before it were passed by.
      contents = try await next()
    }
    var item = item
    item.content = contents.removeValue(forKey: item.name)
    return item
  }

  /// Asks for those that come next.
  private mutating func next() async throws -> [String: [UInt8]] {
    var (count, bytes) = (0, 0)
    for item in planned.prefix(Self.mostEntries) {
      bytes += item.byteCount ?? 0
      guard count == 0 || bytes <= Self.mostBytes else { break }
      count += 1
    }
    let wanted = planned.prefix(count).map(\.name)
    planned = planned.dropFirst(count)
    names.subtract(wanted)
    guard count > 1 else { return [:] }
    do {
      return try await mailbox.contents(of: wanted)
    } catch {
      guard !(error is CancellationError), !Task.isCancelled else { throw CancellationError() }
      // Each is asked for alone then, and says itself what is wrong.
      return [:]
    }
  }
}
