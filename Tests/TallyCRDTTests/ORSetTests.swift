import TallyCRDT
import Testing

@Suite struct ORSetTests {
  private func stamp(_ replica: UInt64, _ sequence: UInt64, _ time: UInt64 = 0) -> Stamp {
    Stamp(
      time: HybridTime(milliseconds: time),
      dot: Dot(replica: ReplicaID(high: replica, low: 0), sequence: sequence))
  }

  @Test func elementThatWasAddedIsAMember() {
    #expect(!ORSetElement().isMember)
    #expect(ORSetElement(added: stamp(1, 1)).isMember)
  }

  @Test func removeTakesAwayEveryTagThatItObserved() {
    var element = ORSetElement(added: stamp(1, 1))
    element.add(stamp(2, 1))
    element.remove(stamp(3, 1))
    #expect(!element.isMember)
    #expect(element.liveDots.isEmpty)
  }

  @Test func addWinsOverConcurrentRemoveWhateverTheClocksSay() {
    let shared = ORSetElement(added: stamp(1, 1, 50))
    var remover = shared
    remover.remove(stamp(1, 2, 99))
    var adder = shared
    adder.add(stamp(2, 1, 0))
    #expect(remover.merging(adder).isMember)
    #expect(remover.merging(adder).liveDots == [Dot(replica: ReplicaID(high: 2, low: 0), sequence: 1)])
  }

  @Test func removeAfterAddIsFinalForThatAdd() {
    let early = ORSetElement(added: stamp(1, 1))
    var late = early
    late.remove(stamp(1, 2))
    #expect(!late.merging(early).isMember)
    #expect(!early.merging(late).isMember)
  }

  @Test func ofConcurrentRemovalsTheGreatestStampStays() {
    let shared = ORSetElement(added: stamp(1, 1))
    var first = shared
    first.remove(stamp(1, 2, 5))
    var second = shared
    second.remove(stamp(2, 1, 6))
    #expect(first.merging(second).tags.map(\.removed) == [stamp(2, 1, 6)])
    #expect(first.merging(second) == second.merging(first))
  }

  @Test func removalDoesNotChangeWhatWasRemovedBefore() {
    var element = ORSetElement(added: stamp(1, 1))
    element.remove(stamp(1, 2, 1))
    element.remove(stamp(1, 3, 9))
    #expect(element.tags.map(\.removed) == [stamp(1, 2, 1)])
  }

  @Test func uniformStampIsThatOfTheOnlyAdd() {
    var element = ORSetElement(added: stamp(1, 1))
    #expect(element.uniformStamp == stamp(1, 1))
    element.remove(stamp(1, 2))
    #expect(element.uniformStamp == nil)
    #expect(element.latestTime == HybridTime(milliseconds: 0))
  }

  // MARK: Places

  private func position(_ byte: UInt8) throws -> ListPosition { try #require(ListPosition(bytes: [byte])) }

  @Test func ofConcurrentMovesTheLaterStays() throws {
    var (first, second) = (ORSetElement(added: stamp(1, 1)), ORSetElement(added: stamp(1, 1)))
    first.move(stamp(1, 2, 7), to: try position(1))
    second.move(stamp(2, 1, 6), to: try position(9))
    #expect(first.merging(second).place?.position == (try position(1)))
    #expect(first.merging(second) == second.merging(first))
    #expect(first.merging(second).tags.count == 1)
  }

  @Test func aPlaceIsNoMemberAndOutlastsItsRemoval() throws {
    var element = ORSetElement()
    element.move(stamp(1, 1), to: try position(1))
    #expect(!element.isMember && !element.isEmpty && element.liveDots.isEmpty && element.uniformStamp == nil)
    #expect(element.dots == [stamp(1, 1).dot])
    element.add(stamp(1, 2))
    #expect(element.uniformStamp == stamp(1, 2))
    element.remove(stamp(1, 3))
    #expect(element.place?.position == (try position(1)))
    #expect(element.latestTime == HybridTime(milliseconds: 0))
  }

  @Test func aDeltaHasAPlaceThatThePeerLacksAndNoOther() throws {
    var element = ORSetElement(added: stamp(1, 1))
    element.move(stamp(2, 1), to: try position(1))
    var known = StateVector()
    known.include(stamp(1, 1).dot)
    let part = try #require(element.delta(since: known))
    #expect(part.tags.isEmpty && part.place == element.place)
    known.include(stamp(2, 1).dot)
    #expect(element.delta(since: known) == nil)
  }

  /// Two copies of one replica can write two places under one stamp.
  @Test func ofTwoPlacesUnderOneStampTheGreaterStays() throws {
    var (first, second) = (ORSetElement(), ORSetElement())
    first.move(stamp(1, 1), to: try position(1))
    second.move(stamp(1, 1), to: try position(2))
    #expect(first.merging(second).place?.position == (try position(2)))
    #expect(first.merging(second) == second.merging(first))
  }
}
