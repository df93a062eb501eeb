// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

// On Apple platforms zstd comes as a Swift package, elsewhere as the system's library.
#if canImport(Darwin)
  let zstdPackages: [Package.Dependency] = [
    .package(url: "https://github.com/facebook/zstd.git", from: "1.5.6")
  ]
  let zstd: Target.Dependency = .product(name: "libzstd", package: "zstd")
  let zstdTargets: [Target] = []
#else
  let zstdPackages: [Package.Dependency] = []
  let zstd: Target.Dependency = "CZstd"
  let zstdTargets: [Target] = [
    .systemLibrary(
      name: "CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .yum(["libzstd-devel"])])
  ]
#endif

// Which of Apple's APIs a library uses that need a reason. Elsewhere nothing reads it.
#if canImport(Darwin)
  let privacy: [Resource] = [.process("PrivacyInfo.xcprivacy")]
  let notHere: [String] = []
#else
  let privacy: [Resource] = []
  let notHere = ["PrivacyInfo.xcprivacy"]
#endif

let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")

// What the trait Network adds; without it SwiftPM neither resolves nor builds these: Docs/Decisions/0010.
func network(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["Network"]))
}
let tallyNetwork: Target.Dependency = .target(name: "TallyNetwork", condition: .when(traits: ["Network"]))
// Faults that tests plant, in what the tests are built with and nothing else: Docs/PlantedFaults.md.
let faults: Target.Dependency = .target(name: "TallyFaults", condition: .when(traits: ["PlantedFaults"]))
// What the trait Relay adds: the server; without it SwiftPM neither resolves nor builds it: Docs/Decisions/0017.
func relay(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["Relay"]))
}
let tallyRelayServer: Target.Dependency = .target(name: "TallyRelayServer", condition: .when(traits: ["Relay"]))
// What the trait HTTPClient adds: on Linux the relay's client makes its requests with AsyncHTTPClient, since
// Foundation's can end the process there. Apple's platforms need none of it. Docs/Decisions/0019.
func httpClient(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(platforms: [.linux], traits: ["HTTPClient"]))
}
// What the trait Inspector adds: the inspector's server, on SwiftNIO alone. Docs/Decisions/0027.
func inspector(_ product: String) -> Target.Dependency {
  .product(name: product, package: "swift-nio", condition: .when(traits: ["Inspector"]))
}
let tallyInspector: Target.Dependency = .target(name: "TallyInspector", condition: .when(traits: ["Inspector"]))
// What the trait Postgres adds: the relay's second storage, on the system's libpq. Docs/Decisions/0018.
let libpq: Target.Dependency = .target(name: "CLibPQ", condition: .when(traits: ["Postgres"]))
// What the trait Macros adds: @Entity; without it SwiftPM neither resolves nor builds swift-syntax:
// Docs/Decisions/0023.
func macros(_ product: String) -> Target.Dependency {
  .product(name: product, package: "swift-syntax", condition: .when(traits: ["Macros"]))
}
let tallyMacros: Target.Dependency = .target(name: "TallyMacros", condition: .when(traits: ["Macros"]))
// What the trait Spaces adds: sealed places, on swift-crypto alone, which is CryptoKit on Apple's systems:
// Docs/Decisions/0055.
let spacesCrypto: Target.Dependency = .product(
  name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Spaces"]))
let tallySpaces: Target.Dependency = .target(name: "TallySpaces", condition: .when(traits: ["Spaces"]))
// Swift 6.1 does not know the flag; the tests are ordinary ones there.
#if compiler(>=6.2)
  let mainActorByDefault: [SwiftSetting] = [.unsafeFlags(["-default-isolation", "MainActor"])]
#else
  let mainActorByDefault: [SwiftSetting] = []
#endif
// A stand-in for CloudKit on other systems, for our own tests alone: the names that TallyCloudKit uses, and an iCloud
// in memory behind them. Only the Makefile sets TALLY_TESTS; in an app's build TallyCloudKit is empty there.
#if canImport(Darwin)
  let hasStubs = false
#else
  let hasStubs = Context.environment["TALLY_TESTS"] != nil
#endif
let cloudKit: [Target.Dependency] = hasStubs ? ["CloudKit"] : []
let cloudKitStub: [SwiftSetting] = hasStubs ? [.define("CloudKitStub")] : []
let cloudKitTests: [Target] =
  hasStubs
  ? [
    .target(name: "CloudKit", path: "Tests/Stubs/CloudKit"),
    .testTarget(
      name: "TallyCloudKitTests",
      dependencies: [
        "CloudKit", "Tally", "TallyCRDT", "TallyCloudKit", "TallyRig", "TallyStore", "TallySync", "TallyTesting",
        "TestEffort", grdb,
      ]),
  ] : []
let nio: [Target.Dependency] = [
  network("NIOCore", "swift-nio"), network("NIOPosix", "swift-nio"), network("NIOTLS", "swift-nio"),
  network("NIOSSL", "swift-nio-ssl"),
]

let package = Package(
  name: "Tally",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Tally", targets: ["Tally"]),
    .library(name: "TallyCRDT", targets: ["TallyCRDT"]),
    .library(name: "TallyWire", targets: ["TallyWire"]),
    .library(name: "TallyStore", targets: ["TallyStore"]),
    .library(name: "TallyAssets", targets: ["TallyAssets"]),
    .library(name: "TallySync", targets: ["TallySync"]),
    .library(name: "TallyRecovery", targets: ["TallyRecovery"]),
    .library(name: "TallyImport", targets: ["TallyImport"]),
    .library(name: "TallyMacros", targets: ["TallyMacros"]),
    .library(name: "TallyNetwork", targets: ["TallyNetwork"]),
    .library(name: "TallyRelay", targets: ["TallyRelay"]),
    .library(name: "TallyRelayServer", targets: ["TallyRelayServer"]),
    .library(name: "TallyCloudKit", targets: ["TallyCloudKit"]),
    .library(name: "TallySwiftUI", targets: ["TallySwiftUI"]),
    .library(name: "TallyInspector", targets: ["TallyInspector"]),
    .library(name: "TallyTesting", targets: ["TallyTesting"]),
    .executable(name: "tally", targets: ["TallyCLI"]),
  ],
  traits: [
    .trait(name: "Network", description: "TallyNetwork: sync over TCP and TLS, on SwiftNIO; off unless asked for"),
    .trait(name: "Macros", description: "TallyMacros: @Entity, on swift-syntax; off unless asked for"),
    .trait(
      name: "HTTPClient",
      description: "TallyRelay makes its requests with AsyncHTTPClient on Linux; off unless asked for"),
    .trait(
      name: "Relay", description: "TallyRelayServer and tally relay, on Hummingbird; off unless asked for",
      enabledTraits: ["HTTPClient"]),
    .trait(
      name: "Inspector",
      description: "TallyInspector and tally inspect: stores in the browser, on SwiftNIO; off unless asked for"),
    .trait(name: "Spaces", description: "TallySpaces: parts of sealed places, not to be used yet; on swift-crypto"),
    .trait(
      name: "Postgres", description: "The relay on PostgreSQL, through libpq; off unless asked for",
      enabledTraits: ["Relay"]),
    .trait(
      name: "PlantedFaults",
      description:
        "For Tally's own tests only: faults that the tests plant are compiled in; no product is released with it"),
  ],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/swiftlang/swift-syntax", "603.0.0"..<"604.0.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.90.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
  ] + zstdPackages,
  targets: zstdTargets + [
    .target(name: "CTallySQLite"),
    .target(name: "CTallySystem"),
    .target(name: "TallyCRDT"),
    .target(name: "TallyWire", dependencies: ["CTallySystem", "TallyCRDT", zstd]),
    // What apps declare and get back, without a file: entities and schemas, seed sets, errors.
    .target(name: "TallySchema", dependencies: ["TallyCRDT", "TallyWire", grdb, sqlite]),
    .target(
      name: "TallyStore",
      dependencies: [
        "CTallySQLite", "CTallySystem", "TallyCRDT", "TallySchema", "TallyWire", faults, grdb, sqlite, logging,
      ],
      exclude: notHere, resources: privacy),
    // What can be read of a damaged file. Others need not build it.
    .target(name: "TallyRecovery", dependencies: ["TallyCRDT", "TallyWire", "TallyStore", grdb, sqlite]),
    // Files that records refer to, beside the store.
    .target(
      name: "TallyAssets",
      dependencies: ["CTallySystem", "TallyCRDT", "TallySchema", "TallyStore", "TallyWire", faults, grdb]),
    .target(
      name: "TallySync",
      dependencies: ["TallyAssets", "TallyCRDT", "TallySchema", "TallyWire", "TallyStore", logging, metrics],
      exclude: notHere, resources: privacy),
    // iCloud as a mailbox; empty where there is no CloudKit. Others need not build it.
    .target(name: "TallyCloudKit", dependencies: ["TallyCRDT", "TallyStore", "TallySync"] + cloudKit),
    // Views to drop in; empty where there is no SwiftUI. Scripts/apple-views.sh checks them against stubs.
    .target(
      name: "TallySwiftUI",
      dependencies: ["TallyAssets", "TallyCRDT", "TallySchema", "TallyStore", "TallySync", grdb]),
    // Rows of other databases, for apps that had one before. Others need not build it.
    .target(
      name: "TallyImport", dependencies: ["TallyAssets", "TallyCRDT", "TallyWire", "TallyStore", grdb, sqlite]),
    // What an app imports: the names that it needs, and GRDB.
    .target(
      name: "Tally", dependencies: ["TallyAssets", "TallyCRDT", "TallySchema", "TallyStore", "TallySync", grdb]),
    // What the compiler runs, and what apps import. Tests use the latter, and ask the former by a pipe: one that
    // depended on the plugin would have everything built a second time, for the compiler's side, and one that imported
    // swift-syntax would have that built a second time, for the tests' side.
    .macro(
      name: "TallyMacroPlugin",
      dependencies: [
        macros("SwiftCompilerPlugin"), macros("SwiftDiagnostics"), macros("SwiftParser"),
        macros("SwiftParserDiagnostics"), macros("SwiftSyntax"), macros("SwiftSyntaxBuilder"),
        macros("SwiftSyntaxMacroExpansion"), macros("SwiftSyntaxMacros"),
      ]),
    .target(
      name: "TallyMacros",
      dependencies: [
        "TallyCRDT", "TallyStore", .target(name: "TallyMacroPlugin", condition: .when(traits: ["Macros"])),
        grdb,
        logging,
      ]),
    .target(name: "TallyNetwork", dependencies: ["TallySync", network("Crypto", "swift-crypto")] + nio),
    // What a relay and its clients agree on: Docs/RelayProtocol.md.
    .target(name: "TallyRelayProtocol", dependencies: ["TallyCRDT"]),
    .target(
      name: "TallyRelay",
      dependencies: [
        "TallyRelayProtocol", "TallySync", "TallyWire",
        httpClient("AsyncHTTPClient", "async-http-client"), httpClient("NIOCore", "swift-nio"),
        httpClient("NIOHTTP1", "swift-nio"), httpClient("NIOPosix", "swift-nio"),
        httpClient("NIOSSL", "swift-nio-ssl"),
      ]),
    .systemLibrary(
      name: "CLibPQ", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .yum(["libpq-devel"]), .brew(["libpq"])]),
    .target(
      name: "TallyRelayServer",
      dependencies: [
        "TallyRelayProtocol", "TallyStore", grdb, logging, libpq,
        relay("Hummingbird", "hummingbird"), relay("HummingbirdCore", "hummingbird"),
        relay("HummingbirdTLS", "hummingbird"), relay("NIOSSL", "swift-nio-ssl"),
        relay("HTTPTypes", "swift-http-types"), relay("ServiceLifecycle", "swift-service-lifecycle"),
        relay("Crypto", "swift-crypto"), relay("NIOCore", "swift-nio"), relay("NIOHTTP1", "swift-nio"),
      ]),
    // What the inspector and the tool say about stores, as values; and the inspector's server and pages.
    .target(
      name: "TallyInspection", dependencies: ["TallyAssets", "TallyCRDT", "TallyStore", "TallySync", grdb, sqlite]),
    .target(
      name: "TallyInspector",
      dependencies: [
        "TallyAssets", "TallyCRDT", "TallyInspection", "TallyStore", "TallySync", logging, inspector("NIOCore"),
        inspector("NIOHTTP1"), inspector("NIOPosix"),
      ],
      resources: [.embedInCode("Web")]),
    // Membership as signed records, and mailboxes whose content only members can read. No product yet.
    .target(
      name: "TallySpaces",
      dependencies: ["TallyCRDT", "TallyStore", "TallySync", "TallyWire", spacesCrypto]),
    .target(name: "TallyTesting", dependencies: ["TallyCRDT", "TallyWire", "TallyStore", "TallySync", grdb, sqlite]),
    // The faults that tests plant, and what they make of a join.
    .target(name: "TallyFaults", dependencies: ["TallyCRDT"], path: "Tests/Faults"),
    // How much of a random or long test runs, as the environment says.
    .target(name: "TestEffort", path: "Tests/Effort"),
    // What tests Tally itself, for our own tests and the soak tool; apps get TallyTesting.
    .target(
      name: "TallyRig",
      dependencies: [
        "Tally", "TallyAssets", "TallyCRDT", "TallyCloudKit", "TallyFaults", "TallyRecovery", "TallyRelay",
        "TallyRelayProtocol",
        "TallyWire", "TallyStore", "TallySync", "TallyTesting", grdb,
      ] + cloudKit,
      path: "Tests/Support", swiftSettings: cloudKitStub),
    .executableTarget(
      name: "TallyCLI",
      dependencies: [
        "Tally", "TallyAssets", "TallyCRDT", "TallyWire", "TallyStore", "TallySync", "TallyImport", "TallyInspection",
        "TallyRecovery", "TallyRelay", "TallyRelayProtocol", grdb, logging, tallyInspector, tallyNetwork,
        tallyRelayServer, faults,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(
      name: "Scorebook",
      dependencies: [
        "Tally", "TallyCRDT", tallyInspector, .target(name: "TallyRelay", condition: .when(traits: ["Inspector"])),
        .target(name: "TallySync", condition: .when(traits: ["Inspector"])),
      ], path: "Examples/Scorebook",
      exclude: ["README.md", "Tests"]),
    .testTarget(name: "ScorebookTests", dependencies: ["Scorebook", "Tally"], path: "Examples/Scorebook/Tests"),
    .executableTarget(
      name: "SharedFolder", dependencies: ["Tally", "TallySync"], path: "Examples/SharedFolder",
      exclude: ["README.md"]),
    .executableTarget(
      name: "SpeechTimer", dependencies: ["Tally", "TallyStore", "TallySync"], path: "Examples/SpeechTimer",
      exclude: ["README.md"]),
    .executableTarget(
      name: "TwoMachines", dependencies: ["Tally", tallyNetwork], path: "Examples/TwoMachines",
      exclude: ["README.md"]),
    .executableTarget(
      name: "ThreeDevices", dependencies: ["Tally", "TallyRelay"], path: "Examples/Relay",
      exclude: ["Hosting", "README.md"]),
    // An app in the small, with its tests; the views are for Apple platforms and empty elsewhere.
    .executableTarget(
      name: "Pantry", dependencies: ["Tally", "TallyStore", "TallySync"], path: "Examples/Pantry",
      exclude: ["README.md", "Tests", "demo.sh"], sources: ["App", "Views"]),
    .testTarget(name: "PantryTests", dependencies: ["Pantry", "Tally"], path: "Examples/Pantry/Tests"),
    .testTarget(name: "TallyCRDTTests", dependencies: ["TallyCRDT", "TallyTesting"]),
    .testTarget(
      name: "TallyWireTests", dependencies: ["TallyCRDT", "TallyTesting", "TallyWire", "TestEffort"],
      resources: [.copy("Golden")]),
    .testTarget(
      name: "TallyStoreTests",
      dependencies: [
        "Tally", "TallyCRDT", "TallyImport", "TallyRecovery", "TallyRig", "TallySchema", "TallyStore", "TallyTesting",
        "TallyWire", "TestEffort", faults, grdb,
      ], resources: [.copy("Golden")]),
    .testTarget(
      name: "TallySyncTests",
      dependencies: [
        "Tally", "TallyAssets", "TallyCRDT", "TallyRecovery", "TallyRig", "TallyStore", "TallySync", "TallyTesting",
        "TallyWire",
        "TestEffort", metrics, grdb,
      ]),
    .testTarget(
      name: "TransportTests",
      dependencies: ["Tally", "TallyCRDT", "TallySync", "TallyTesting", "TallyWire", "TestEffort", tallyNetwork, grdb]
        + nio,
      resources: [.copy("Certificates")]),
    .testTarget(
      name: "CrashTests", dependencies: ["Tally", "TallyCRDT", "TallyCLI", "TallyTesting", "TestEffort", grdb],
      resources: [.copy("Shim")]),
    .testTarget(
      name: "ConvergenceTests",
      dependencies: [
        "Tally", "TallyCRDT", "TallyRig", "TallyStore", "TallyWire", "TallyTesting", "TestEffort", grdb,
      ]),
    .testTarget(name: "SimulatorTests", dependencies: ["Tally", "TallyRig", "TallyTesting", "TestEffort", grdb]),
    .testTarget(
      name: "ChinookTests", dependencies: ["Tally", "TallyCRDT", "TallyImport", "TallyStore", "TestEffort", grdb],
      resources: [.copy("Fixtures")]),
    .testTarget(name: "ReadmeTests", dependencies: ["Tally", tallyMacros]),
    // An app that imports a module with names of Tally's, as SwiftData has.
    .target(name: "Namesakes", path: "Tests/Namesakes"),
    .testTarget(name: "NamesakeTests", dependencies: ["Namesakes", "Tally"]),
    .testTarget(
      name: "DocExamples",
      dependencies: [
        "Pantry", "Tally", "TallyCloudKit", "TallyImport", "TallyRecovery", "TallyStore", "TallySync", "TallyRelay",
        "TallyTesting", tallyInspector, tallyMacros, tallyNetwork, grdb,
      ] + cloudKit),
    .testTarget(
      name: "MacroTests",
      dependencies: [
        "Tally", "TallyCRDT", "TallyStore", "TallyTesting", "TestEffort", tallyMacros, grdb, logging,
      ]),
    // What apps of other settings declare: Swift 5, and the main actor by default.
    .testTarget(
      name: "MacroTestsSwift5", dependencies: ["Tally", tallyMacros, grdb],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(
      name: "MacroTestsMainActor", dependencies: ["Tally", tallyMacros, grdb],
      swiftSettings: mainActorByDefault),
    // What the relay's tests and benchmarks run beside themselves: programs, private PostgreSQL servers.
    .target(name: "RelayRig", path: "Tests/RelaySupport"),
    .testTarget(
      name: "RelayTests",
      dependencies: [
        "RelayRig", "Tally", "TallyAssets", "TallyCLI", "TallyRelay", "TallyRelayProtocol", "TallyRig", "TallyStore",
        "TallySync", "TallyTesting", "TallyWire", "TestEffort", tallyRelayServer, tallySpaces, grdb, logging,
        relay("HTTPTypes", "swift-http-types"),
        relay("Hummingbird", "hummingbird"), relay("NIOCore", "swift-nio"), relay("NIOEmbedded", "swift-nio"),
        relay("ServiceLifecycle", "swift-service-lifecycle"),
      ]),
    .executableTarget(
      name: "RelayBench",
      dependencies: [
        "RelayRig", "Tally", "TallyRelay", "TallyRelayProtocol", "TallySync", "TallyTesting", "TallyWire",
        tallyRelayServer, grdb, sqlite, .product(name: "ArgumentParser", package: "swift-argument-parser"),
        relay("Hummingbird", "hummingbird"),
      ], path: "Tests/RelayBench"),
    .testTarget(
      name: "SpacesTests",
      dependencies: [
        "Tally", "TallyCRDT", "TallyStore", "TallySync", "TallyTesting", tallySpaces, grdb,
      ], exclude: ["Golden"]),
    .testTarget(
      name: "InspectionTests",
      dependencies: ["Tally", "TallyCRDT", "TallyInspection", "TallyStore", "TallySync", "TallyTesting", grdb]),
    .testTarget(
      name: "InspectorTests",
      dependencies: ["Tally", "TallyInspection", "TallyStore", "TallySync", tallyInspector, grdb],
      exclude: ["Browser"]),
    .testTarget(
      name: "TallyCLITests",
      dependencies: ["TallyCLI", "Tally", "TallyCRDT", "TallyStore", "TallySync", "TallyWire", "TestEffort", grdb]),
    .testTarget(
      name: "CorpusTests",
      dependencies: [
        "TallyCLI", "Tally", "TallyCRDT", "TallyRelay", "TallyRelayProtocol", "TallyStore", "TallySync", "TallyWire",
        grdb,
      ],
      path: "Tests/Fuzz", exclude: ["Corpus", "Driver"], sources: ["CorpusTests", "Targets"]),
    .executableTarget(
      name: "Soak",
      dependencies: [
        "TallyRig", "TestEffort", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/Soak"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "Tally", "TallyAssets", "TallyCRDT", "TallyStore", "TallySync", "TallyTesting", "TallyWire", grdb, sqlite,
        zstd,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Tests/Benchmarks"),
  ] + cloudKitTests,
  swiftLanguageModes: [.v6]
)

// make fuzz builds our own modules with coverage for libFuzzer, and of the executables only the fuzzer:
// Docs/Fuzzing.md.
if Context.environment["TALLY_FUZZ"] != nil {
  package.targets.removeAll { [.test, .executable, .macro].contains($0.type) || $0.name == "TallyMacros" }
  package.products = []
  package.targets += [
    .target(
      name: "TallyCLI",
      dependencies: [
        "Tally", "TallyAssets", "TallyCRDT", "TallyWire", "TallyStore", "TallySync", "TallyImport", "TallyInspection",
        "TallyRecovery", "TallyRelay", "TallyRelayProtocol", grdb, logging, tallyInspector, tallyNetwork,
        tallyRelayServer, faults,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      exclude: ["TallyTool.swift"]),
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "TallyCLI", "Tally", "TallyCRDT", "TallyRelay", "TallyRelayProtocol", "TallyStore", "TallySync", "TallyWire",
        grdb,
      ],
      path: "Tests/Fuzz", exclude: ["Corpus", "CorpusTests"], sources: ["Driver", "Targets"],
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
  ]
  for target in package.targets where target.type != .system {
    target.swiftSettings = [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
  }
}

// What a simulator of iOS can run, for `xcodebuild test` (.github/workflows/apple.yml): no tools, no examples, and no
// tests that start programs. Xcode sets no traits, so the faults that tests plant are on by default. Docs/Apple.md.
if Context.environment["TALLY_SIMULATOR"] != nil {
  let tests = [
    "TallyCRDTTests", "TallyWireTests", "TallyStoreTests", "TallySyncTests", "ConvergenceTests", "SimulatorTests",
    "InspectionTests", "NamesakeTests",
  ]
  let traitsAlone = [
    "CLibPQ", "RelayRig", "TallyInspector", "TallyMacros", "TallyNetwork", "TallyRelayServer", "TallySpaces",
  ]
  package.targets.removeAll {
    $0.type == .test
      ? !tests.contains($0.name) : [.executable, .macro].contains($0.type) || traitsAlone.contains($0.name)
  }
  let targets = Set(package.targets.map(\.name))
  package.products.removeAll { ($0 as? Product.Library)?.targets.allSatisfy(targets.contains) != true }
  package.traits.insert(.default(enabledTraits: ["PlantedFaults"]))
}

// The gate treats warnings in our own code as errors; users' builds do not.
if Context.environment["TALLY_STRICT"] != nil {
  for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-warnings-as-errors"])]
  }
}

// What tests compute most with, merging and encoding, is optimized in their builds and keeps its assertions.
// Users' debug builds stay as they are.
if Context.environment["TALLY_TESTS"] != nil {
  for target in package.targets where ["TallyCRDT", "TallyWire"].contains(target.name) {
    target.swiftSettings =
      (target.swiftSettings ?? []) + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
  }
}
