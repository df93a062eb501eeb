#if Spaces
  import Tally
  import TallySync
  import Testing

  @testable import TallySpaces

  /// Ann and Bo share a place whose host does what it likes. Ann has put the items of her store.
  struct HostileScene {
    let fixture: SpaceFixture
    let ann, bo: SpaceFixture.Device
    let one, other: Store
    let place: HostileMailbox
    let first, second: SealedMailbox

    init(_ kind: MailboxKind, _ one: Store) async throws {
      fixture = try SpaceFixture()
      ann = try fixture.device("Ann")
      bo = try fixture.device("Bo", knowing: ann)
      try ann.space.add(bo.space.records)
      (self.one, other) = (one, try Samples.store())
      place = HostileMailbox(kind)
      (first, second) = (try ann.sealed(place), try bo.sealed(place))
      try await one.sync(through: first)
    }

    /// The file that was put last, as the place has it.
    var shown: HostileMailbox.File { get throws { try #require(place.truth.last { $0.name.hasSuffix(".s") }) } }

    /// The file that was put last, as Ann knows it.
    var file: SealedFile { get throws { try #require(first.file(try shown.name, ann.space.view)) } }
  }
#endif
