/// One kind of work that is measured.
struct Workload: Sendable {
  var number: String
  /// Whether it runs only if it is named: it takes minutes.
  var isOnRequest = false
  var run: @Sendable (Round) throws -> Void

  /// All of them, in the order in which a round runs them: what a later one needs, an earlier one has made.
  static let all = [
    Workload(number: "W1", run: InsertWorkload.run),
    Workload(number: "W8", run: FileSizeWorkload.run),
    Workload(number: "W3", run: FirstSyncWorkload.runDelta),
    Workload(number: "W4", run: FirstSyncWorkload.runApply),
    Workload(number: "W5", run: ApplyAgainWorkload.run),
    Workload(number: "W2", run: UpdateWorkload.run),
    Workload(number: "W7", run: OneChangeWorkload.run),
    Workload(number: "W6", run: ExchangeWorkload.run),
    Workload(number: "W9", run: DeleteWorkload.run),
    Workload(number: "W10", run: OpenWorkload.run),
    Workload(number: "W11", run: RelationshipWorkload.run),
    Workload(number: "W12", run: SeedWorkload.run),
    Workload(number: "W13", run: ReadWorkload.run),
    Workload(number: "W14", run: SessionWorkload.run),
    Workload(number: "W15", run: OtherUpdatesWorkload.run),
    Workload(number: "W16", run: BesideReadersWorkload.run),
    Workload(number: "W17", run: DeletedForGoodWorkload.run),
    Workload(number: "W19", run: AssetWorkload.run),
    Workload(number: "W18", isOnRequest: true, run: DecadeWorkload.run),
  ]
}
