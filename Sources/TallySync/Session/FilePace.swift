/// The timing of file transfers in a session: when the runner lists the files that are missing, when it tries again,
/// and when it gives up.
struct FilePace {
  /// When the last listing began, how long it took, and whether another one waits.
  private var lastListed: Duration?
  private var listingTime: Duration = .zero
  private(set) var owesListing = false
  private var lastRetried: Duration = .zero
  /// When the first file began to come.
  private var began: Duration?
  private var isOver = false
  /// When the file that is asked for was last seen to go on, with the number of its bytes.
  private var lastPiece: (at: Duration, number: UInt64, byteCount: UInt64?)?

  /// Whether the listing that is due may begin; otherwise it is owed. A listing reads all rows that name files, so in a
  /// live session it does not follow each of many changes.
  mutating func beginsListing(isLive: Bool, _ now: Duration) -> Bool {
    let pause = isLive ? max(.seconds(1), min(.seconds(10), listingTime * 5)) : .zero
    owesListing = lastListed.map { now - $0 < pause } ?? false
    guard !owesListing else { return false }
    lastListed = now
    return true
  }

  /// The listing has ended.
  mutating func endsListing(_ now: Duration) { listingTime = now - (lastListed ?? now) }

  /// Whether it is time to try again what could not be done before.
  mutating func retries(after pause: Duration, _ now: Duration) -> Bool {
    guard now - lastRetried >= pause else { return false }
    lastRetried = now
    return true
  }

  /// Returns the number of the request if the peer has sent nothing for longer than `limit`; otherwise nil. The time
  /// that this side takes to read earlier bytes, or to store received ones, does not count.
  mutating func stalled(_ asking: SessionFiles.Asking?, after limit: Duration, _ now: Duration) -> UInt64? {
    guard let asking, asking.isAsked, !asking.isComplete, asking.kept == asking.byteCount else {
      lastPiece = nil
      return nil
    }
    if let last = lastPiece, last.number == asking.number, last.byteCount == asking.byteCount {
      return now - last.at > limit ? asking.number : nil
    }
    lastPiece = (now, asking.number, asking.byteCount)
    return nil
  }

  /// Whether files have just had the time that they may take, counted from when the first began to come. It says so
  /// once.
  mutating func ends(_ asking: SessionFiles.Asking?, after limit: Duration, _ now: Duration) -> Bool {
    if began == nil, asking?.byteCount != nil { began = now }
    guard let began, now - began > limit, !isOver else { return false }
    isOver = true
    return true
  }
}
