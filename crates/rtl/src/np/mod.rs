//! Assembly of the canonical architecture: clusters, pipes, services.
