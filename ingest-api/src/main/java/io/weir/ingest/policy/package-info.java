// SPDX-License-Identifier: Apache-2.0
/**
 * Policy files, in which operators write policies as YAML. A file is accepted or refused as a
 * whole. Depends on the model of the module {@code topics} and a YAML library.
 */
@NullMarked
package io.weir.ingest.policy;

import org.jspecify.annotations.NullMarked;
