// What a store's callers declare and get back is in a module of its own, and comes with `import TallyStore`.
@_exported import TallySchema
