#if Spaces
  import TallyStore

  /// The reason why something about a space could not be done, or was refused.
  package struct SpaceError: TallyError {
    package enum Code: String, Sendable {
      /// The bytes are no record, file or name of this space, or have been changed.
      case malformed
      /// A signature is not by the key that should have made it.
      case wrongSignature
      /// A record names an author or an invitation that is not among the records before it.
      case unknownAuthor
      /// A record, file or suite of a later version of Tally.
      case newerVersion
      /// A record is by a device that is out, and would say nothing.
      case authorNotPresent
      /// The set has as many records as a space may have.
      case tooManyRecords
      /// This device is not in the space, or no longer.
      case notPresent
      /// This device has seen records that are not here: its store or the place was set back.
      case behind
      /// No key may be used, for want of one that was made after the last change of members.
      case noKey
      /// A file is sealed with a key that has not come.
      case keyMissing
      /// The device that sealed a file is not in the space.
      case sealerNotPresent
    }

    package let code: Code
    /// A sentence for a log.
    package let message: String

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// Whether nothing but a person's act helps.
    package var isPermanent: Bool {
      switch code {
      case .notPresent, .newerVersion, .tooManyRecords: true
      default: false
      }
    }

    package var description: String { "\(message) (\(code.rawValue))" }
  }
#endif
