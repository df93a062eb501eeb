import Tally
import TallySync
import TallyTesting
import TestEffort
import Testing

#if Network
  import TallyNetwork
#endif

@Suite(.serialized, .timeLimit(.minutes(5))) struct ConformanceTests {
  @Test(arguments: TransportConformance.rules)
  func memory(_ rule: TransportConformance.Rule) async throws {
    try await rule.check(within: .seconds(120)) { MemoryConnection.pair() }
  }

  @Test(arguments: TransportConformance.rules)
  func pipes(_ rule: TransportConformance.Rule) async throws {
    try await rule.check(within: .seconds(120)) { try StreamConnection.pair() }
  }

  @Test(arguments: TransportConformance.rules)
  func socketpair(_ rule: TransportConformance.Rule) async throws {
    try await rule.check(within: .seconds(120)) { try StreamConnection.sockets() }
  }

  #if Network
    @Test(arguments: TransportConformance.rules)
    func tcp(_ rule: TransportConformance.Rule) async throws {
      try await rule.check(within: .seconds(120)) { try await Loopback.pair(.none) }
    }

    @Test(arguments: Effort.sample(TransportConformance.rules, 8))
    func tcpWithASecret(_ rule: TransportConformance.Rule) async throws {
      try await rule.check(within: .seconds(120)) { try await Loopback.pair(.secret(.random())) }
    }

    @Test(arguments: Effort.sample(TransportConformance.rules, 8))
    func tls(_ rule: TransportConformance.Rule) async throws {
      try await rule.check(within: .seconds(120)) {
        try await Loopback.pair(Certificates.server, client: Certificates.client)
      }
    }
  #endif

  /// A suite that finds nothing wrong with anything is worth nothing.
  @Test func aTransportThatBreaksTheContractIsFound() async throws {
    for fault in FaultyConnection.Fault.allCases {
      await #expect(throws: ConformanceFailure.self, "\(fault)") {
        try await TransportConformance.check(within: .seconds(5)) { FaultyConnection.pair(fault) }
      }
    }
  }
}
