//! Everything that is tested in namespaces of the node, in one program: a program for each file
//! would have to be compiled and linked for each, and its last test would run alone each time.

mod deployed;
mod functions;
mod network;
mod nothing_lost;
mod observability;
mod outages;
mod peer;
mod pods_calls;
mod pods_cluster;
mod pods_faults;
mod pods_hostile;
mod pods_images;
mod pods_policy;
mod pods_restart;
mod pods_surroundings;
mod pods_tags;
mod pods_templates;
mod porch16;
mod pull_secret;
mod smoke;
mod traces;
mod wrapper;
