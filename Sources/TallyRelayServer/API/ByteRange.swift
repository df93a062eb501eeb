#if Relay
  import TallyRelayProtocol

  /// The part of an entry that a request asks for: `Range: bytes=FIRST-` or `bytes=FIRST-LAST`. Anything else is not
  /// looked at, as RFC 9110 allows, and the answer is the whole.
  struct ByteRange: Sendable, Equatable {
    let first: Int
    /// The byte after the last.
    let end: Int
    let size: Int
    let isWhole: Bool

    /// - Throws: `RelayProblem` if it begins beyond the end.
    init(_ field: String?, size: Int) throws {
      self.size = size
      guard let field, field.hasPrefix("bytes="), let (first, last) = Self.parse(field.dropFirst(6)),
        last.map({ $0 >= first }) ?? true
      else {
        (first, end, isWhole) = (0, size, true)
        return
      }
      guard first < size else { throw RelayProblem(.rangeNotSatisfiable, "the range begins beyond the end") }
      (self.first, self.end, isWhole) = (
        first, min(size, (last ?? size - 1).addingReportingOverflow(1).partialValue), false
      )
    }

    private static func parse(_ text: Substring) -> (Int, Int?)? {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ $0.utf8.count <= 18 && $0.allSatisfy { ("0"..."9").contains($0) } }),
        let first = Int(parts[0])
      else { return nil }
      return (first, Int(parts[1]))
    }

    /// `Content-Range`.
    var field: String { "bytes \(first)-\(end - 1)/\(size)" }
  }
#endif
