#if Inspector
  import TallyInspection
  import TallyStore
  import TallySync

  /// A store that the inspector shows, under a name.
  package struct InspectedStore: Sendable {
    /// The name for people.
    package let name: String
    /// The store.
    package let store: Store
    /// How its sync stands; nil if it is not known here.
    package let engine: EngineView?
    /// Runs a person's queries elsewhere; nil if they run here.
    package let queries: QueryRunner?

    /// Runs a query of the store, until it has so many rows or is to end.
    package typealias QueryRunner =
      @Sendable (_ store: Store, _ sql: String, _ limit: Int, _ isOver: @escaping () -> Bool) throws -> QueryOutcome

    /// A store under a name.
    package init(
      _ name: String, _ store: Store, _ engine: EngineView? = nil, queries: QueryRunner? = nil
    ) {
      (self.name, self.store, self.engine, self.queries) = (name, store, engine, queries)
    }

    /// The outcome of a person's query.
    func outcome(of sql: String, limit: Int, until isOver: @escaping () -> Bool) throws -> QueryOutcome {
      if let queries, try store.isInPlace() { return try queries(store, sql, limit, isOver) }
      return QueryOutcome {
        try store.withoutOccupying { try $0.query(sql, limit: limit, until: isOver) }
      }
    }
  }

  /// What the inspector asks an engine, here or in another process.
  package struct EngineView: Sendable {
    /// How sync stands.
    package let status: @Sendable () async -> SyncStatus
    /// The status now, and after each change.
    package let updates: @Sendable () async -> AsyncStream<SyncStatus>
    /// Syncs with everybody at once.
    package let syncNow: @Sendable () async -> Void

    /// An engine somewhere.
    package init(
      status: @escaping @Sendable () async -> SyncStatus,
      updates: @escaping @Sendable () async -> AsyncStream<SyncStatus>, syncNow: @escaping @Sendable () async -> Void
    ) {
      (self.status, self.updates, self.syncNow) = (status, updates, syncNow)
    }

    /// An engine of this process.
    package init(_ engine: SyncEngine) {
      status = { await engine.status }
      updates = { await engine.statusUpdates() }
      syncNow = { await engine.syncNow() }
    }
  }

  /// Switches of a demonstration that the pages show above everything else.
  package struct InspectorControls: Sendable {
    /// A switch or button.
    package struct Control: Sendable, Encodable {
      /// Its name for programs.
      package var id: String
      /// The device that it belongs to.
      package var group: String
      /// What it says.
      package var label: String
      /// Whether it is on; nil for a button.
      package var isOn: Bool?

      /// A switch, or a button if it is neither on nor off.
      package init(_ id: String, group: String, _ label: String, isOn: Bool? = nil) {
        (self.id, self.group, self.label, self.isOn) = (id, group, label, isOn)
      }
    }

    /// The switches as they are.
    package let list: @Sendable () async -> [Control]
    /// Presses a button or moves a switch.
    package let perform: @Sendable (_ id: String, _ isOn: Bool) async throws -> Void

    /// Switches.
    package init(
      list: @escaping @Sendable () async -> [Control], perform: @escaping @Sendable (String, Bool) async throws -> Void
    ) {
      (self.list, self.perform) = (list, perform)
    }
  }
#endif
