// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/** A request to decide a call. The request contains either the client's name or an API key. */
public sealed interface CallRequest permits Call, KeyedCall {}
