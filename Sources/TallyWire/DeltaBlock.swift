import TallyCRDT

/// A piece of a delta: items of several types, with dictionaries of what they share.
///
/// A block's bytes are canonical: the same items give the same bytes, in whatever order they were added. Types,
/// relationships, records and links are each there once; a writer that adds one twice makes bytes that readers refuse.
/// `Docs/WireFormat.md` describes them.
public struct DeltaBlock: Hashable, Sendable {
  /// A record, and the part of its state that the delta carries. Its `FieldID`s count into the group's `fields`.
  public struct Record: Hashable, Sendable {
    /// The record's name.
    public var name: AnyRecordName
    /// The cells.
    public var state: RecordState
    /// A record of a group.
    public init(name: AnyRecordName, state: RecordState) {
      self.name = name
      self.state = state
    }
  }

  /// The records of one type.
  public struct Records: Hashable, Sendable {
    /// The type.
    public var type: String
    /// The wire names of the fields that the records' cells refer to by place, without repetition; at most
    /// `WireLimits.fields`. Those that no cell uses are not written.
    public var fields: [String]
    /// The records.
    public var items: [Record]
    /// A group.
    public init(type: String, fields: [String], items: [Record]) {
      self.type = type
      self.fields = fields
      self.items = items
    }
  }

  /// An element of a relationship of one record.
  public struct Link: Hashable, Sendable {
    /// The record that has the relationship.
    public var source: AnyRecordName
    /// The element.
    public var target: AnyRecordName
    /// The tags.
    public var element: ORSetElement
    /// A link of a group.
    public init(source: AnyRecordName, target: AnyRecordName, element: ORSetElement) {
      self.source = source
      self.target = target
      self.element = element
    }
  }

  /// The links of one relationship.
  public struct Links: Hashable, Sendable {
    /// The type that has the relationship.
    public var source: String
    /// The relationship's name.
    public var relationship: String
    /// The type of its elements.
    public var target: String
    /// The links.
    public var items: [Link]
    /// A group.
    public init(source: String, relationship: String, target: String, items: [Link]) {
      self.source = source
      self.relationship = relationship
      self.target = target
      self.items = items
    }
  }

  /// The groups of records.
  public var records: [Records]
  /// The groups of links.
  public var links: [Links]

  /// A block.
  public init(records: [Records] = [], links: [Links] = []) {
    self.records = records
    self.links = links
  }

  /// Whether there is nothing in the block.
  public var isEmpty: Bool { records.allSatisfy { $0.items.isEmpty } && links.allSatisfy { $0.items.isEmpty } }
}
