#if canImport(CloudKit)
  import CloudKit
  import Foundation
  import TallyCRDT
  import TallySync

  /// A cursor of a zone: a change token, and how many entries have come by up to it. A checksum over both tells those
  /// that a mailbox has given from others.
  struct CloudKitCursor {
    let position: UInt64
    let token: CKServerChangeToken

    init(position: UInt64, token: CKServerChangeToken) { (self.position, self.token) = (position, token) }

    /// Reads a cursor; nil if it is none that a mailbox has given.
    init?(_ cursor: MailboxCursor) {
      let parts = cursor.entry.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, let data = Data(base64Encoded: String(parts[0])),
        parts[1] == Self.check(cursor.position, parts[0])
      else { return nil }
      // A token of a system that this one cannot read is as good as none: everything is listed.
      guard let token = try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data) else {
        return nil
      }
      self.init(position: cursor.position, token: token)
    }

    /// The cursor as a store keeps it.
    /// - Throws: what Foundation's archiver throws.
    func cursor() throws -> MailboxCursor {
      let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
      let text = Substring(data.base64EncodedString())
      return MailboxCursor(position: position, entry: "\(text).\(Self.check(position, text))")
    }

    private static func check(_ position: UInt64, _ token: Substring) -> String {
      var hash = SipHash()
      hash.combine(word: position)
      hash.combine(text: String(token))
      return Hexadecimal.text(hash.finalized())
    }
  }

  extension MailboxCursor {
    /// The cursor after one more entry of which the mailbox knows, with the same token.
    func advanced() -> MailboxCursor? {
      CloudKitCursor(self).flatMap { try? CloudKitCursor(position: $0.position + 1, token: $0.token).cursor() }
    }
  }
#endif
